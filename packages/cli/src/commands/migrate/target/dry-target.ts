import type { Target } from './target.ts'

/** Opens a target for `--dry-run` without a server: everything counts as new. */
export function openDryTarget(): Target {
  return { surroundings: async () => ({}), write: async () => ({ done: 'created', remarks: [] }) }
}
