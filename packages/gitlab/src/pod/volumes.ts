/** Volumes of the pod of a job: those of the configuration, and those of the runner. */
import type { Volumes } from '../config/sections/volume-section.ts'
import { present } from './security.ts'

type Json = Readonly<Record<string, unknown>>

export interface Mounted {
  readonly volumes: readonly Json[]
  /** Mounts of every container. */
  readonly mounts: readonly Json[]
}

/** Returns the volumes of the configuration, in the order of their types. Variables in names of claims are expanded. */
export function configuredVolumes(given: Volumes = {}, expand: (text: string) => string): Mounted {
  const volumes = new Map<string, Json>()
  const mounts: Json[] = []
  const add = (
    one: {
      name: string
      mount_path: string
      sub_path?: string | undefined
      read_only?: boolean | undefined
      mount_propagation?: string | undefined
    },
    source: Json,
    name = one.name,
  ): void => {
    // One volume can be mounted at several places.
    volumes.set(name, { name, ...source })
    mounts.push(
      present({
        name,
        mountPath: one.mount_path,
        subPath: one.sub_path,
        readOnly: one.read_only,
        mountPropagation: one.mount_propagation,
      }) ?? {},
    )
  }
  const items = (table: Readonly<Record<string, string>> | undefined): Json[] | undefined =>
    table === undefined ? undefined : Object.entries(table).map(([key, path]) => ({ key, path }))

  for (const one of given.host_path ?? []) add(one, { hostPath: { path: one.host_path ?? one.mount_path } })
  for (const one of given.secret ?? []) add(one, { secret: present({ secretName: one.name, items: items(one.items) }) })
  for (const one of given.pvc ?? []) {
    const name = expand(one.name)
    add(one, { persistentVolumeClaim: { claimName: name } }, name)
  }
  for (const one of given.config_map ?? []) add(one, { configMap: present({ name: one.name, items: items(one.items) }) })
  for (const one of given.empty_dir ?? [])
    add(one, {
      emptyDir: present({ medium: one.medium === '' ? undefined : one.medium, sizeLimit: one.size_limit }) ?? {},
    })
  for (const one of given.csi ?? [])
    add(one, {
      csi: present({
        driver: one.driver,
        fsType: one.fs_type,
        readOnly: one.read_only,
        volumeAttributes: one.volume_attributes,
      }),
    })
  for (const one of given.nfs ?? []) add(one, { nfs: present({ server: one.server, path: one.path, readOnly: one.read_only }) })
  return { volumes: [...volumes.values()], mounts }
}

/** Returns true if a mount of the configuration holds the folder. */
export function coversFolder({ mounts }: Mounted, folder: string): boolean {
  return mounts.some(
    ({ mountPath }) =>
      typeof mountPath === 'string' && (folder === mountPath || folder.startsWith(`${mountPath.replace(/\/$/, '')}/`)),
  )
}
