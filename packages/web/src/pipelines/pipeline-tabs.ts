/** The tabs of a pipeline, in their order. Each is a chunk of its own that gets the pipeline. */
import type { Pipeline } from '@windlass/protocol'
import type { ComponentType } from 'react'
import { late } from '../shell/late.tsx'
import type { PipelinePart } from '../url/paths.ts'

export interface PipelineTab {
  /** What follows `/-/` in the address. Absent for the overview. */
  readonly part?: PipelinePart
  readonly label: string
  readonly Content: ComponentType<{ readonly pipeline: Pipeline }>
}

export const PIPELINE_TABS: readonly PipelineTab[] = [
  { label: 'Overview', Content: late(async () => (await import('./overview-tab.tsx')).OverviewTab) },
  { part: 'trends', label: 'Trends', Content: late(async () => (await import('../trends/trends-tab.tsx')).TrendsTab) },
  { part: 'edit', label: 'Edit', Content: late(async () => (await import('../editor/editor-tab.tsx')).EditorTab) },
  { part: 'triggers', label: 'Triggers', Content: late(async () => (await import('../triggers/triggers-tab.tsx')).TriggersTab) },
  { part: 'history', label: 'History', Content: late(async () => (await import('./history-tab.tsx')).HistoryTab) },
  { part: 'settings', label: 'Settings', Content: late(async () => (await import('../settings/settings-tab.tsx')).SettingsTab) },
  { part: 'run', label: 'Run', Content: late(async () => (await import('./run-form.tsx')).RunTab) },
]
