/** An assistant: a client of `callsync mcp` over standard input and output, and the answers of its tools. */
import { dirname } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { expect } from 'vitest';
import { program } from './program.ts';

export const connectAssistant = async (transport: Parameters<Client['connect']>[0]): Promise<Client> => {
  const assistant = new Client({ name: 'test', version: '1' });
  await assistant.connect(transport);
  return assistant;
};

/** The caller closes it. @param options of the command. @param nodeOptions of its process */
export const openAssistant = (configPath: string, options: readonly string[] = [], nodeOptions: string[] = []) => {
  const args = [...nodeOptions, program, 'mcp', '--config', configPath, ...options];
  const server = { command: process.execPath, args, cwd: dirname(configPath), stderr: 'inherit' } as const;
  return connectAssistant(new StdioClientTransport(server));
};

/** The answer of a tool, with its `text`, or the text with which it is `refused`. */
export const callTool = async (assistant: Client, name: string, args: Record<string, unknown> = {}) => {
  const { content, isError, structuredContent } = await assistant.callTool({ name, arguments: args });
  const [{ text } = { text: '' }] = content as { readonly text: string }[];
  if (isError === true) return { refused: text };
  expect(structuredContent).toEqual(JSON.parse(text));
  return { ...JSON.parse(text), text };
};
