/** Parts that both pods of an attempt have. */
import { LABEL, type PodMount, type PodVolume, type RuntimeSpec } from '@windlass/protocol'
import type { AttemptNames } from './names.ts'

type PodSettings = Pick<
  RuntimeSpec['runtimeScheduler'],
  | 'annotations'
  | 'labels'
  | 'tolerations'
  | 'affinity'
  | 'schedulerName'
  | 'priorityClassName'
  | 'dnsPolicy'
  | 'dnsConfig'
  | 'imagePullSecrets'
  | 'initContainers'
>

export interface PodIdentity {
  readonly name: string
  /** Value of the label `app`, by which services and monitors select. */
  readonly app: string
  readonly settings: Pick<PodSettings, 'annotations' | 'labels'>
  readonly labels: Readonly<Record<string, string>>
}

/** Returns the metadata of a pod. Labels of the runtime's specification cannot replace ours. */
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

/** Returns the scheduling fields of a pod, its pull secrets, init containers and DNS settings. */
export function podPlacement(settings: PodSettings, nodeSelector: Readonly<Record<string, string>>): Record<string, unknown> {
  const { tolerations, imagePullSecrets, initContainers } = settings
  return {
    ...(Object.keys(nodeSelector).length > 0 && { nodeSelector: { ...nodeSelector } }),
    ...(tolerations.length > 0 && { tolerations }),
    ...(imagePullSecrets.length > 0 && { imagePullSecrets: imagePullSecrets.map((name) => ({ name })) }),
    ...(initContainers.length > 0 && { initContainers }),
    ...present({
      affinity: settings.affinity,
      schedulerName: settings.schedulerName,
      priorityClassName: settings.priorityClassName,
      dnsPolicy: settings.dnsPolicy,
      dnsConfig: settings.dnsConfig,
    }),
  }
}

function present(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}

export function toEnv(variables: Readonly<Record<string, string>>): { name: string; value: string }[] {
  return Object.entries(variables).map(([name, value]) => ({ name, value }))
}

type Mount = PodMount & { readonly name: string }
type Volume = PodVolume & { readonly name: string }

/** Returns the volumes of a keyed map, each with its name. */
export function toVolumes(volumes: Readonly<Record<string, PodVolume>>): Volume[] {
  return Object.entries(volumes).map(([key, volume]) => ({ ...volume, name: volume.name ?? key }))
}

/** Returns the mounts of keyed maps. If several have the same path, the first one is used; our own come first. */
export function toMounts(own: readonly Mount[], ...maps: readonly Readonly<Record<string, PodMount>>[]): Mount[] {
  const mounts = [...own]
  for (const [key, mount] of maps.flatMap((map) => Object.entries(map)))
    if (!mounts.some(({ mountPath }) => mountPath === mount.mountPath)) mounts.push({ ...mount, name: mount.name ?? key })
  return mounts
}
