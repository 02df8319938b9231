import { describeFlood } from './flood-cases.ts';

// The campaign webhook-hostile sends 200 deliveries.
describeFlood({ idle: 2_000, bodies: 40, deliveries: 6, everyMs: undefined });
