/**
 * Runs every command of the documentation that needs no container and no cloud, in one installation. About 3 minutes.
 */

import { describe } from 'vitest';
import { testCommands } from '../docs/command-cases.ts';

describe('commands', () => testCommands('all'));
