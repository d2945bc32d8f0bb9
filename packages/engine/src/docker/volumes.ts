/** Named volumes of the daemon. */
import { z } from 'zod'
import { ignoring } from './containers.ts'
import type { DockerHttp } from './http.ts'

export interface Volume {
  readonly name: string
  /** Its path on the machine of the daemon. */
  readonly mountpoint: string
  readonly labels: Readonly<Record<string, string>>
}

const Inspected = z.looseObject({
  Name: z.string(),
  Mountpoint: z.string(),
  Labels: z.record(z.string(), z.string()).nullish(),
})

const Listed = z.looseObject({
  Volumes: z.array(z.looseObject({ Name: z.string(), Labels: z.record(z.string(), z.string()).nullish() })).nullish(),
})

export interface Volumes {
  /** Creates the volume unless it exists; an existing one keeps its labels, which are returned. */
  createVolume(name: string, labels: Readonly<Record<string, string>>): Promise<Volume>
  findVolume(name: string): Promise<Volume | undefined>
  /** Returns the volumes with all these labels that no container uses. */
  listUnusedVolumes(
    labels: readonly string[],
  ): Promise<readonly { readonly name: string; readonly labels: Readonly<Record<string, string>> }[]>
  /** Removes a volume. Ignores missing volumes. Throws `docker-refused` (409) while a container uses it. */
  removeVolume(name: string): Promise<void>
}

export function volumeCalls(http: DockerHttp): Volumes {
  return {
    async createVolume(name, labels) {
      return toVolume(await http.json('POST', '/volumes/create', Inspected, { body: { Name: name, Labels: labels } }))
    },
    async findVolume(name) {
      const found = await ignoring([404], http.json('GET', `/volumes/${encodeURIComponent(name)}`, Inspected))
      return found && toVolume(found)
    },
    async listUnusedVolumes(labels) {
      const query = { filters: JSON.stringify({ label: labels, dangling: ['true'] }) }
      const { Volumes } = await http.json('GET', '/volumes', Listed, { query })
      return (Volumes ?? []).map(({ Name, Labels }) => ({ name: Name, labels: Labels ?? {} }))
    },
    async removeVolume(name) {
      await ignoring([404], http.done('DELETE', `/volumes/${encodeURIComponent(name)}`))
    },
  }
}

function toVolume({ Name, Mountpoint, Labels }: z.output<typeof Inspected>): Volume {
  return { name: Name, mountpoint: Mountpoint, labels: Labels ?? {} }
}
