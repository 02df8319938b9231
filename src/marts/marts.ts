/** Every mart, in an order in which each comes after those that it reads. */
import { callChanges, callsWide, callTags, documentChunks, fieldTexts, transcripts } from './definitions/call-marts.ts';
import {
  agentDaily,
  campaignDaily,
  completenessDaily,
  deliveryDaily,
  provenDays,
  tagDaily,
} from './definitions/daily-marts.ts';
import { callTalk, speechIntervals, speechTurns } from './definitions/talk-marts.ts';
import type { Mart } from './mart.ts';

export const marts: readonly Mart[] = [
  fieldTexts,
  callsWide,
  transcripts,
  callTags,
  callChanges,
  documentChunks,
  speechIntervals,
  speechTurns,
  callTalk,
  provenDays,
  agentDaily,
  campaignDaily,
  tagDaily,
  completenessDaily,
  deliveryDaily,
];

/** The open columns of each mart that the restricted role reads; of the others it reads none, whatever columns they share. */
export const openMartColumns: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
  marts.flatMap(({ name, key, columns }) => {
    const open = columns.filter((column) => column.open === true).map((column) => column.name);
    return key.every((column) => open.includes(column)) ? [[name, open]] : [];
  }),
);
