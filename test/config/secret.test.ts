import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { resolveDataDir } from '../../src/config/data-dir.ts';
import { openSecret } from '../../src/lib/secret.ts';
import { useFolder } from '../support/folder.ts';

const file = join(useFolder('secret'), 'secret');

describe('openSecret', () => {
  test('takes a file before a value, without the line end, and again when it is replaced', () => {
    writeFileSync(file, 'one\n');
    const secret = openSecret({ key: 'temporal.api_key', value: 'zero', file });
    expect(secret?.read()).toBe('one');
    writeFileSync(`${file}.new`, 'two\n');
    renameSync(`${file}.new`, file);
    expect(secret?.read()).toBe('two');
  });

  test('names key and path when the file is gone or empty, and nothing of its content', () => {
    writeFileSync(file, 'one');
    const secret = openSecret({ key: 'temporal.api_key', file });
    expect(secret?.read()).toBe('one');
    writeFileSync(file, ' \n');
    expect(() => secret?.read()).toThrow(`The file of temporal.api_key_file is empty: ${file}.`);
    rmSync(file);
    expect(() => secret?.read()).toThrow(`The file of temporal.api_key_file cannot be read: ${file}.`);
  });

  test('is nothing when nothing is configured', () => {
    expect(openSecret({ key: 'store.url' })).toBeUndefined();
    expect(openSecret({ key: 'store.url', value: '' })).toBeUndefined();
    expect(openSecret({ key: 'store.url', value: 'v' })?.read()).toBe('v');
  });

  test('keeps every byte of a secret but the line end, as a signing key needs them', () => {
    writeFileSync(file, Buffer.from([0x20, 0xff, 0xfe, 0x20, 0x0d, 0x0a]));
    expect(openSecret({ key: 'webhook.secrets[0].secret', file })?.readBytes()).toEqual(
      Buffer.from([0x20, 0xff, 0xfe, 0x20]),
    );
  });
});

describe('resolveDataDir', () => {
  test('takes what is configured, with ~ for the home folder', () => {
    expect(resolveDataDir('~/data')).toBe(join(homedir(), 'data'));
    expect(resolveDataDir('/data')).toBe('/data');
  });

  test('has a place of its own for root and for everybody else', () => {
    const expected = process.getuid?.() === 0 ? '/var/lib/callsync' : '/share/callsync';
    expect(resolveDataDir(undefined, { XDG_DATA_HOME: '/share' })).toBe(expected);
  });
});
