/** States of Argo CD in the words of the GraphQL schemas. Pure. */

/** The words of each kind of states. Phases of operations and connections to clusters keep the words of Argo CD. */
const WORDS = {
  sync: ['OUT_OF_SYNC', 'SYNCED', 'SYNCING', 'UNKNOWN'],
  health: ['DEGRADED', 'HEALTHY', 'MISSING', 'PROGRESSING', 'SUSPENDED', 'TERMINATED', 'UNKNOWN'],
  phase: ['Error', 'Failed', 'Running', 'Succeeded', 'Terminating', 'Unknown'],
  connection: ['Failed', 'Successful', 'Unknown'],
} as const

export type StatusKind = keyof typeof WORDS

/** `OutOfSync`, `out-of-sync` and `OUT_OF_SYNC` are the same word. */
const plain = (word: string): string => word.replaceAll(/[^A-Za-z]/g, '').toLowerCase()

const TABLES = new Map(
  Object.entries(WORDS).map(([kind, words]) => [kind, new Map<string, string>(words.map((word) => [plain(word), word]))]),
)

/** Returns the word of the schemas for a state of Argo CD, also in the spelling of `/v1`. A word that is not known is `UNKNOWN`. */
export function toPlatformStatus(kind: StatusKind, word: string | null | undefined): string {
  const words = TABLES.get(kind)
  return words?.get(plain(word ?? '')) ?? words?.get('unknown') ?? 'UNKNOWN'
}
