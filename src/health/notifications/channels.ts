/** Where messages go: a signed webhook (Standard Webhooks), or Slack. */
import { Webhook } from 'standardwebhooks';
import type { ChannelConfig, NotificationsConfig } from '../../../schemas/config/notifications.ts';
import { transient } from '../../lib/errors.ts';
import { openAgent } from '../../lib/proxy.ts';
import { openSecret } from '../../lib/secret.ts';

export interface Message {
  /** The same for every attempt, so that a receiver knows a repeated one. */
  readonly id: string;
  readonly condition: string;
  readonly subject: string;
  readonly state: 'firing' | 'resolved';
  readonly summary: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

export interface Channel {
  /** @throws CallsyncError NOTIFICATION_FAILED, CONFIG_SECRET */
  send(message: Message): Promise<void>;
}

const timeoutMs = 10_000;
/** Condition of the message of a week. */
export const digest = 'digest';
const words = { firing: 'Wrong', resolved: 'Right again' } as const;

/** By name. Each secret is read again for each message. @throws CallsyncError CONFIG_SECRET */
export const openChannels = ({ channels }: NotificationsConfig): ReadonlyMap<string, Channel> =>
  new Map(channels.map((config) => [config.name, openChannel(config)]));

const openChannel = (config: ChannelConfig): Channel => {
  const send = senders[config.type](config as never);
  return {
    send: (message) =>
      send(message).catch((cause: unknown) => {
        throw transient('NOTIFICATION_FAILED', `The notification channel ${config.name} did not take the message.`, {
          cause,
        });
      }),
  };
};

const sendSigned = ({ name, url, secret_file }: Extract<ChannelConfig, { type: 'webhook' }>) => {
  const secret = openSecret({ key: `notifications.channels.${name}.secret`, file: secret_file });
  return async ({ id, condition, subject, state, summary, at }: Message): Promise<void> => {
    // No receiver may take the message of a week for a fault.
    const phase = condition === digest ? {} : { state };
    const body = JSON.stringify({
      type: ['callsync', condition, ...Object.values(phase)].join('.'),
      timestamp: new Date(at).toISOString(),
      data: { condition, subject, ...phase, summary },
    });
    const sentAt = new Date();
    await post(url, body, {
      'webhook-id': id,
      'webhook-timestamp': String(Math.floor(sentAt.getTime() / 1000)),
      'webhook-signature': new Webhook(secret.read()).sign(id, sentAt, body),
    });
  };
};

const post = async (url: string, body: string, headers: Readonly<Record<string, string>> = {}): Promise<void> => {
  const { fetch } = await import('undici');
  const dispatcher = openAgent();
  const answer = await fetch(url, {
    method: 'POST',
    dispatcher,
    redirect: 'error',
    signal: AbortSignal.timeout(timeoutMs),
    headers: { 'content-type': 'application/json', 'user-agent': 'callsync', ...headers },
    body,
  });
  await answer.body?.cancel();
  await dispatcher.close();
  if (!answer.ok) throw new Error(`answered ${answer.status}`);
};

const sendToSlack = ({ name, url_file }: Extract<ChannelConfig, { type: 'slack' }>) => {
  const secret = openSecret({ key: `notifications.channels.${name}.url`, file: url_file });
  return async ({ condition, state, summary }: Message): Promise<void> => {
    const begin = condition === digest ? '' : `*${words[state]}*: `;
    await post(secret.read(), JSON.stringify({ text: `${begin}${escapeSlack(summary)}` }));
  };
};

/** Characters of a link or a mention. */
const escapeSlack = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

type Send = (message: Message) => Promise<void>;

/** How each type of channel sends; its settings are a variant in `schemas/config/notifications.ts`. */
const senders: { readonly [T in ChannelConfig['type']]: (config: Extract<ChannelConfig, { type: T }>) => Send } = {
  webhook: sendSigned,
  slack: sendToSlack,
};
