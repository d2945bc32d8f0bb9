import { expect, test } from 'vitest'
import { toPlatformStatus } from './statuses.ts'

test('states of Argo CD become the words of the schemas, and words that are not known become UNKNOWN (O090)', () => {
  const table = {
    sync: {
      Synced: 'SYNCED',
      OutOfSync: 'OUT_OF_SYNC',
      Syncing: 'SYNCING',
      Unknown: 'UNKNOWN',
      synced: 'SYNCED',
      'out-of-sync': 'OUT_OF_SYNC',
      unknown: 'UNKNOWN',
      OUT_OF_SYNC: 'OUT_OF_SYNC',
    },
    health: {
      Healthy: 'HEALTHY',
      Progressing: 'PROGRESSING',
      Degraded: 'DEGRADED',
      Suspended: 'SUSPENDED',
      Missing: 'MISSING',
      Terminated: 'TERMINATED',
      Unknown: 'UNKNOWN',
      healthy: 'HEALTHY',
      progressing: 'PROGRESSING',
      degraded: 'DEGRADED',
      suspended: 'SUSPENDED',
      missing: 'MISSING',
      unknown: 'UNKNOWN',
    },
    phase: {
      Error: 'Error',
      Failed: 'Failed',
      Running: 'Running',
      Succeeded: 'Succeeded',
      Terminating: 'Terminating',
      Unknown: 'Unknown',
      running: 'Running',
      terminating: 'Terminating',
      succeeded: 'Succeeded',
      failed: 'Failed',
      error: 'Error',
    },
    connection: {
      Successful: 'Successful',
      Failed: 'Failed',
      Unknown: 'Unknown',
      successful: 'Successful',
      failed: 'Failed',
      unknown: 'Unknown',
    },
  } as const
  for (const kind of ['sync', 'health', 'phase', 'connection'] as const) {
    for (const [word, wanted] of Object.entries(table[kind]))
      expect([kind, word, toPlatformStatus(kind, word)]).toEqual([kind, word, wanted])
    const unknown = kind === 'phase' || kind === 'connection' ? 'Unknown' : 'UNKNOWN'
    for (const word of ['', 'Melting', '__proto__', 'constructor', '𝕊𝕪𝕟𝕔𝕖𝕕', ' ', null, undefined])
      expect([kind, word, toPlatformStatus(kind, word)]).toEqual([kind, word, unknown])
  }
})
