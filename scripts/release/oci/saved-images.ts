/** Images as `docker save` writes them: a tar archive with one `manifest.json`, configurations and layers. */
import { statSync } from 'node:fs'
import { posix } from 'node:path'
import { z } from 'zod'
import { listEntries, readRange, type Range } from '../tar.ts'

const Config = z.object({
  architecture: z.string(),
  os: z.string(),
  config: z.object({
    User: z.string().optional(),
    ExposedPorts: z.record(z.string(), z.unknown()).nullish(),
    Env: z.array(z.string()).nullish(),
    Entrypoint: z.array(z.string()).nullish(),
    Cmd: z.array(z.string()).nullish(),
    Volumes: z.record(z.string(), z.unknown()).nullish(),
    WorkingDir: z.string().optional(),
    StopSignal: z.string().optional(),
  }),
  rootfs: z.object({ diff_ids: z.array(z.string()) }),
})
/** The first bytes of data that gzip has compressed. */
const GZIP = Buffer.from([0x1f, 0x8b])
const Manifest = z.array(z.object({ Config: z.string(), RepoTags: z.array(z.string()).nullable(), Layers: z.array(z.string()) }))

export type ImageConfig = z.infer<typeof Config>

export interface SavedImage {
  readonly reference: string
  readonly config: ImageConfig
  /** Uncompressed layers, the lowest first, with the digest of each. */
  readonly layers: readonly { readonly diffId: string; readonly tar: Range }[]
}

/** Reads the images of an archive. Throws if a layer is missing. */
export async function readSavedImages(path: string): Promise<SavedImage[]> {
  const entries = await listEntries({ path, start: 0, size: statSync(path).size })
  const ranges = new Map<string, Range>()
  for (const { header, range } of entries) if (header.type === 'file') ranges.set(header.name, range)
  // A layer that several images have is stored once.
  for (const { header } of entries) {
    const target = header.type === 'symlink' && ranges.get(posix.join(posix.dirname(header.name), header.linkname ?? ''))
    if (target) ranges.set(header.name, target)
  }
  const rangeOf = (name: string): Range => {
    const found = ranges.get(name)
    if (found === undefined) throw new Error(`${path} has no ${name}`)
    return found
  }
  const read = (name: string): unknown => JSON.parse(readRange(rangeOf(name)).toString())
  return Manifest.parse(read('manifest.json')).map(({ Config: configName, RepoTags, Layers }) => {
    const config = Config.parse(read(configName))
    const layers = Layers.map((name, at) => ({ diffId: config.rootfs.diff_ids[at] ?? name, tar: rangeOf(name) }))
    for (const { tar } of layers)
      if (readRange({ ...tar, size: Math.min(2, tar.size) }).equals(GZIP))
        throw new Error(
          `${path} has compressed layers, as Docker writes them with the containerd image store; turn that store off`,
        )
    return { reference: RepoTags?.[0] ?? '', config, layers }
  })
}
