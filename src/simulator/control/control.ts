/** Control of a running simulator: its types, and its methods by the form of their answer. */
import type { createControl } from './local-control.ts';

export type SimulatorControl = ReturnType<typeof createControl>;

/** Methods that answer a list, one JSON value a line; the others answer one JSON value. */
const listMethods: readonly string[] = ['truth', 'deliveries'] satisfies readonly (keyof SimulatorControl)[];

/** Whether the method answers a list. */
export const isList = (method: string): boolean => listMethods.includes(method);
