import type { Command } from 'commander';
import { parse } from 'yaml';
import { runSimulator } from '../../simulator/main.ts';
import { type CommonOptions, print, untilStopped } from '../command.ts';

export const addSimulate = (program: Command): void => {
  program
    .command('simulate')
    .description('run the simulated call-data service alone, on loopback')
    .option('--port <port>', 'port of its HTTP interface', '0')
    .option('--calls <n>', 'number of calls', '2000')
    .option('--dialect <name>', 'how its call list behaves', 'activate')
    .option('--webhook <url>', 'send webhooks there')
    .option('--options <yaml>', 'further options as YAML or JSON, such as "{live: {callsPerSecond: 5}}"', '{}')
    .option('--json', 'print its addresses as one JSON line')
    .addHelpText('after', '\nExample:\n  callsync simulate --calls 500 --webhook http://127.0.0.1:8780/webhook')
    .action(
      async (
        options: CommonOptions & { port: string; calls: string; dialect: string; webhook?: string; options: string },
      ) => {
        const extra = parse(options.options) as Record<string, Record<string, unknown>>;
        const webhook = options.webhook === undefined ? {} : { url: options.webhook };
        const settings = {
          ...extra,
          port: Number(options.port),
          dialect: options.dialect,
          calls: { count: Number(options.calls), ...extra.calls },
          webhooks: { ...webhook, ...extra.webhooks },
        };
        await runSimulator({
          options: settings as never,
          signal: untilStopped().signal,
          onReady: (addresses) =>
            print(
              options,
              addresses,
              [
                `base_url        ${addresses.url}`,
                `auth_url        ${addresses.authUrl}`,
                `realm           ${addresses.realm}`,
                `client_id       ${addresses.clientId}`,
                `client_secret   ${addresses.clientSecret}   (made up for this run)`,
                `signing secret  ${addresses.signingSecret ?? 'none'}   (made up for this run)`,
                `calls           ${addresses.range.from} … ${addresses.range.to}`,
              ].join('\n'),
            ),
        });
      },
    );
};
