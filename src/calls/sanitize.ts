import type { Observation } from '../../schemas/observation.ts';

/**
 * The one step between what was verified or listed and what is stored. Identity without privacy rules; those act
 * here, so that no path around them can exist.
 */
export type Sanitize = (observation: Observation) => Observation;

export const sanitize: Sanitize = (observation) => observation;
