/** The tabs of a runtime, in their order. Each is a chunk of its own that gets the runtime. */
import type { Runtime } from '@windlass/protocol'
import type { FunctionComponent } from 'react'
import { late } from '../shell/late.tsx'
import type { RuntimePart } from '../url/paths.ts'

export interface RuntimeTab {
  /** What follows `/-/` in the address. Absent for the first tab. */
  readonly part?: RuntimePart
  readonly label: string
  readonly Content: FunctionComponent<{ readonly runtime: Runtime }>
}

export const RUNTIME_TABS: readonly RuntimeTab[] = [
  { label: 'Now', Content: late(async () => (await import('./now-tab.tsx')).NowTab) },
  { part: 'disks', label: 'Disks', Content: late(async () => (await import('../disks/disks-tab.tsx')).DisksTab) },
  { part: 'pods', label: 'Pods', Content: late(async () => (await import('./pods-tab.tsx')).PodsTab) },
  { part: 'spec', label: 'Spec', Content: late(async () => (await import('./spec/spec-tab.tsx')).SpecTab) },
  { part: 'history', label: 'History', Content: late(async () => (await import('./load/history-tab.tsx')).HistoryTab) },
]
