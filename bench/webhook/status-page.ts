/** An operations port with a status page of the usual size, in the process of the receiver, as `callsync up` has it. */
import type pg from 'pg';
import { Registry } from 'prom-client';
import { createAccess } from '../../src/health/page/access.ts';
import { createPage } from '../../src/health/page/page.ts';
import { serveOperations } from '../../src/health/page/server.ts';
import type { PageState } from '../../src/health/page/state.ts';

const shownDays = 35;
const shownEvents = 40;
const dayMs = 86_400_000;

/** As of an installation that has run for a month; the store is asked once for each state. */
const readState = async (pool: pg.Pool): Promise<PageState> => {
  const at = Date.now();
  const { rows } = await pool.query<{ n: string }>(`SELECT count(*) AS n FROM inbox WHERE outcome = 'pending'`);
  const nothing = { count: 0, oldestAge: null };
  const names = ['postgres', 'bigquery'];
  const days = Array.from({ length: shownDays }, (_, index) => ({
    day: new Date(at - (shownDays - index) * dayMs).toISOString().slice(0, 10),
    state: 'proven' as const,
    calls: 4_000,
  }));
  return {
    at,
    version: 'bench',
    provenThrough: null,
    health: {
      at,
      epoch: 1,
      calls: 1_000_000,
      tombstones: 0,
      unread: 0,
      holds: 0,
      inbox: { count: Number(rows[0]?.n), oldestAge: 1, outcomes: {} },
      quarantine: nothing,
      rereads: { ...nothing, unanswered: 0 },
      warehouses: names.map((name) => ({
        name,
        pending: 3,
        liveOldestAge: 2,
        erasureOldestAge: null,
        lastLoadAt: at - 1_000,
        lastError: null,
        ...{ refused: 0, refusal: null },
        newestVisible: at - 1_000,
        loaded: 60,
      })),
      sync: { lag: 2, watermark: new Date(0), watermarkAge: 2, lastError: null, failedAt: null },
      openProblems: 0,
      grantedRequests: 20,
      refused: { ...nothing, newestAge: null },
      workerAge: 1,
      maintenance: null,
      flow: { arrived: 60, merged: 60, refused: 0, deliveryAge: 1, callAge: 1 },
    },
    away: { store: null, temporal: null },
    requestsAMinute: 120,
    warehouses: names,
    days: names.flatMap((warehouse) => days.map((one) => ({ ...one, warehouse }))),
    spool: nothing,
    funnel: [{ warehouse: null, calls: 1_000, p50: 0.2, p95: 1.5 }],
    backfills: [],
    events: Array.from({ length: shownEvents }, (_, index) => ({
      at: at - index * 60_000,
      kind: 'backfill',
      what: 'Paused 2025-01-01_2025-02-01',
      actor: 'ann',
    })),
  };
};

export const serveStatusPage = (pool: pg.Pool): Promise<Awaited<ReturnType<typeof serveOperations>>> =>
  serveOperations({
    listen: '127.0.0.1',
    port: 0,
    registry: new Registry(),
    ready: () => true,
    token: undefined,
    page: createPage({
      access: createAccess({ isOpen: true, readToken: undefined, users: [], hosts: [] }),
      readState: () => readState(pool),
      readDay: async () => ({ verdicts: [], reasons: [] }),
    }),
  });
