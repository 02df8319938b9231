import { describeNeverLost } from './never-lost-cases.ts';

// Small ones that have every trait, and some that were once lost.
const seeds = [
  235, 182, 107, 281, 127, 112, 181, 234, 50, 1111, 607, 2448, 50012, 50009, 51040, 51304, 50128, 56212, 310317, 310250,
  470009, 27, 440006, 76, 940121, 970120, 1030285, 1050479, 1050092, 1050119, 1130253,
];
describeNeverLost(process.env.SEEDS?.split(',').map(Number) ?? seeds);
