import { describeRestored } from './restored-cases.ts';
import { describeScale, describeYoungStore } from './scale-cases.ts';

describeScale(20_000, { maxBuffers: 5_000 });
describeYoungStore(20_000);
describeRestored({ calls: 20_000 });
