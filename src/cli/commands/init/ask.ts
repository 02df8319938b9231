/** The questions of `init`. A flag's value is the default answer. */
import { writeFile } from 'node:fs/promises';
import { confirm, input, password, select } from '@inquirer/prompts';
import { kinds } from '../../../warehouse/kinds.ts';
import { type Answers, questionsOf } from '../init.ts';

const isAddress = (text: string): boolean | string =>
  /^https?:\/\/[^\s/]+/.test(text) || 'Use an address such as https://api.example.com.';
const orNothing = (text: string): string | undefined => (text.trim() === '' ? undefined : text.trim());
const askText = async (message: string, given = '', required = false): Promise<string | undefined> =>
  orNothing(await input({ message, default: given, required }));

/** A secret typed here goes into a file of its own, which nobody else can read. */
const askSecretFile = async (what: string, given: string | undefined, file: string): Promise<string | undefined> => {
  if (given !== undefined) return given;
  const secret = orNothing(await password({ message: `${what} (kept in ${file}; empty = later)`, mask: true }));
  if (secret === undefined) return undefined;
  await writeFile(file, secret, { mode: 0o600, flag: 'wx' });
  return file;
};

export const askAnswers = async (given: Answers, presets: readonly string[], folder: string): Promise<Answers> => {
  const baseUrl = await input({
    message: 'Address of the call API',
    ...(given.baseUrl === undefined ? {} : { default: given.baseUrl }),
    validate: isAddress,
  });
  const authUrl = await askText('Address of the identity provider (empty = no token)', given.authUrl);
  const access =
    authUrl === undefined
      ? {}
      : {
          realm: await askText('Realm', given.realm),
          clientId: await askText('Client id', given.clientId),
          clientSecretFile: await askSecretFile('Client secret', given.clientSecretFile, `${folder}/client-secret`),
        };
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
    default: given.warehouse,
  });
  const settings: Record<string, string | undefined> = {};
  for (const { key, message, required } of questionsOf(warehouse))
    settings[key] = await askText(message, given.settings[key], required);
  const asked = { baseUrl, authUrl, ...access, preset, warehouse, settings };
  const message = 'Does the service send webhooks here?';
  if (!(await confirm({ message, default: given.signingSecretFile !== undefined }))) return asked;
  const file = `${folder}/signing-secret`;
  return {
    ...asked,
    signingSecretFile: await askSecretFile('Signing secret of the webhooks', given.signingSecretFile, file),
    publicUrl: await askText('Public address of the receiver (empty = not yet)', given.publicUrl),
  };
};
