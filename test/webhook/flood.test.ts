import { describeFlood } from './flood-cases.ts';

// The campaign webhook-hostile sends 200 deliveries and asks for 10 s; here other tests share the two cores.
describeFlood({ idle: 2_000, bodies: 40, deliveries: 6, everyMs: undefined, answerWithinMs: 25_000 });
