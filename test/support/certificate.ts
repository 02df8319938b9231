/** A self-signed certificate for `localhost` and 127.0.0.1, valid for a day unless told otherwise, written in DER by hand: no program is needed for it. */
import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

export type TestCertificate = ReturnType<typeof makeCertificate>;

/** Writes it into a folder. @returns the paths of its files, as configurations name them */
export const writeCertificate = async (folder: string, { cert, key } = makeCertificate()) => {
  const paths = { cert_file: join(folder, 'cert.pem'), key_file: join(folder, 'key.pem') };
  await Promise.all([writeFile(paths.cert_file, cert), writeFile(paths.key_file, key)]);
  return paths;
};

export const makeCertificate = ({ days = 1, name = 'localhost', isAuthority = false } = {}) => {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const ecdsaWithSha256 = sequence(oid([0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02]));
  const commonName = sequence(tag(0x31, sequence(oid([0x55, 0x04, 0x03]), tag(0x0c, Buffer.from(name)))));
  const addresses = name === 'localhost' ? [tag(0x87, Buffer.from([127, 0, 0, 1]))] : [];
  const names = sequence(tag(0x82, Buffer.from(name)), ...addresses);
  const authority = sequence(oid([0x55, 0x1d, 0x13]), tag(0x04, sequence(tag(0x01, Buffer.from([0xff])))));
  const alternativeNames = sequence(oid([0x55, 0x1d, 0x11]), tag(0x04, names));
  const day = 86_400_000;
  const toBeSigned = sequence(
    tag(0xa0, tag(0x02, Buffer.from([2]))),
    tag(0x02, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    ecdsaWithSha256,
    commonName,
    sequence(utcTime(new Date(Date.now() - 9 * day)), utcTime(new Date(Date.now() + days * day))),
    commonName,
    publicKey.export({ type: 'spki', format: 'der' }),
    tag(0xa3, sequence(...(isAuthority ? [authority] : []), alternativeNames)),
  );
  const signature = sign('sha256', toBeSigned, privateKey);
  const der = sequence(toBeSigned, ecdsaWithSha256, tag(0x03, Buffer.concat([Buffer.from([0]), signature])));
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
  };
};

const tag = (type: number, content: Buffer): Buffer => {
  const { length } = content;
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([type, ...size]), content]);
};

const sequence = (...parts: Buffer[]): Buffer => tag(0x30, Buffer.concat(parts));
const oid = (bytes: number[]): Buffer => tag(0x06, Buffer.from(bytes));
const utcTime = (at: Date): Buffer => tag(0x17, Buffer.from(`${at.toISOString().replace(/\D/g, '').slice(2, 14)}Z`));
