/** What the two pods of an attempt have in common. */
import { LABEL, type RuntimeSpec } from '@windlass/protocol'
import type { AttemptNames } from './names.ts'

type PodSettings = Pick<
  RuntimeSpec['runtimeScheduler'],
  'annotations' | 'labels' | 'tolerations' | 'affinity' | 'schedulerName' | 'envVars'
>

export interface PodIdentity {
  readonly name: string
  /** Value of the label `app`, by which services and monitors select. */
  readonly app: string
  readonly settings: PodSettings
  readonly labels: Readonly<Record<string, string>>
}

/** Labels of the runtime's specification come first: they cannot replace ours. */
export function podMetadata(
  names: AttemptNames,
  identity: PodIdentity,
): { name: string; namespace: string; labels: Record<string, string> } {
  const { settings } = identity
  return {
    name: identity.name,
    namespace: names.namespace,
    labels: { ...settings.labels, ...names.labels, [LABEL.app]: identity.app, ...identity.labels },
    ...(Object.keys(settings.annotations).length > 0 && { annotations: { ...settings.annotations } }),
  }
}

export function podPlacement(settings: PodSettings, nodeSelector: Readonly<Record<string, string>>): Record<string, unknown> {
  return {
    ...(Object.keys(nodeSelector).length > 0 && { nodeSelector: { ...nodeSelector } }),
    ...(settings.tolerations.length > 0 && { tolerations: settings.tolerations }),
    ...(settings.affinity !== undefined && { affinity: settings.affinity }),
    ...(settings.schedulerName !== undefined && { schedulerName: settings.schedulerName }),
  }
}

export function toEnv(variables: Readonly<Record<string, string>>): { name: string; value: string }[] {
  return Object.entries(variables).map(([name, value]) => ({ name, value }))
}
