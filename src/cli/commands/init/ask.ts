/** The questions, each with what a flag said as its default. */
import { writeFile } from 'node:fs/promises';
import { confirm, input, password, select } from '@inquirer/prompts';
import { kinds } from '../../../warehouse/kinds.ts';
import type { Answers } from './answers.ts';

type Given = Partial<Answers>;

const isAddress = (text: string): boolean | string =>
  /^https?:\/\/[^\s/]+/.test(text) || 'Use an address such as https://api.example.com.';
const orNothing = (text: string): string | undefined => (text.trim() === '' ? undefined : text.trim());
const askText = async (message: string, given: string | undefined): Promise<string | undefined> =>
  orNothing(await input({ message, default: given ?? '' }));

/** A secret typed here goes into a file of its own, which nobody else can read. */
const askSecretFile = async (what: string, given: string | undefined, file: string): Promise<string | undefined> => {
  if (given !== undefined) return given;
  const secret = orNothing(await password({ message: `${what} (kept in ${file}; empty = later)`, mask: true }));
  if (secret === undefined) return undefined;
  await writeFile(file, secret, { mode: 0o600, flag: 'wx' });
  return file;
};

export const askAnswers = async (given: Given, presets: readonly string[], folder: string): Promise<Answers> => {
  const baseUrl = await input({
    message: 'Address of the call API',
    ...(given.baseUrl === undefined ? {} : { default: given.baseUrl }),
    validate: isAddress,
  });
  const authUrl = await askText('Address of the identity provider (empty = no token)', given.authUrl);
  const realm = authUrl === undefined ? undefined : await askText('Realm', given.realm);
  const clientId = authUrl === undefined ? undefined : await askText('Client id', given.clientId);
  const clientSecretFile =
    authUrl === undefined
      ? undefined
      : await askSecretFile('Client secret', given.clientSecretFile, `${folder}/client-secret`);
  const preset = await select({
    message: 'How does the call list work?',
    choices: [
      { name: 'not known: find out with few requests', value: undefined },
      ...presets.map((name) => ({ name: `as preset ${name}`, value: name })),
    ],
    default: given.preset,
  });
  const warehouse = await select({
    message: 'Where do the calls go?',
    choices: kinds.map(({ type }) => ({ value: type })),
    default: given.warehouse ?? 'postgres',
  });
  const settings: Record<string, string | undefined> = {};
  for (const { key, message, required } of kinds.find(({ type }) => type === warehouse)?.questions ?? [])
    settings[key] = orNothing(await input({ message, default: given.settings?.[key] ?? '', required }));
  const webhooks = await confirm({
    message: 'Does the service send webhooks here?',
    default: given.signingSecretFile !== undefined,
  });
  const signingSecretFile = webhooks
    ? await askSecretFile('Signing secret of the webhooks', given.signingSecretFile, `${folder}/signing-secret`)
    : undefined;
  const publicUrl = webhooks
    ? await askText('Public address of the receiver (empty = not yet)', given.publicUrl)
    : undefined;
  return {
    baseUrl,
    authUrl,
    realm,
    clientId,
    clientSecretFile,
    preset,
    warehouse,
    settings,
    signingSecretFile,
    publicUrl,
  };
};
