import { createHash } from 'node:crypto'
import { createWriteStream, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { pack, type Header } from 'tar-stream'
import { afterAll, expect, test } from 'vitest'
import { listEntries, type Entry } from '../tar.ts'
import { openBlobs } from './blobs.ts'
import { archiveImage, writeImage, type ArchivedImage } from './image-archive.ts'
import { readSavedImages } from './saved-images.ts'

const folder = mkdtempSync(join(tmpdir(), 'windlass-oci-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

type Given = readonly [header: Partial<Header> & { name: string }, content?: string]

async function tar(entries: readonly Given[]): Promise<Buffer> {
  const archive = pack()
  for (const [header, content = ''] of entries) archive.entry(header, content)
  archive.finalize()
  return buffer(Readable.from(archive))
}

/** Writes an archive as `docker save` does, for an image of one layer that was built at a time. */
async function save(name: string, layer: readonly Given[], created: string): Promise<string> {
  const content = await tar(layer)
  const diffId = `sha256:${createHash('sha256').update(content).digest('hex')}`
  const config = {
    created,
    architecture: 'amd64',
    os: 'linux',
    container: created,
    config: { Cmd: ['sh'], Env: ['A=1'], Entrypoint: null, Labels: { built: created } },
    history: [{ created }],
    rootfs: { type: 'layers', diff_ids: [diffId] },
  }
  const saved = pack()
  saved.entry({ name: 'abc/layer.tar' }, content)
  saved.entry({ name: 'config.json' }, JSON.stringify(config))
  const manifest = [{ Config: 'config.json', RepoTags: ['windlass/test:1'], Layers: ['abc/layer.tar'] }]
  saved.entry({ name: 'manifest.json' }, JSON.stringify(manifest))
  saved.finalize()
  const path = join(folder, `${name}.tar`)
  await pipeline(saved, createWriteStream(path))
  return path
}

async function write(path: string, name: string): Promise<{ image: ArchivedImage; archive: Buffer }> {
  const [saved] = await readSavedImages(path)
  if (saved === undefined) throw new Error('no image')
  const blobs = openBlobs(join(folder, name), 1)
  const image = await writeImage(saved, blobs, { createdAt: new Date(1_700_000_000_000), labels: { version: '1' } })
  return { image, archive: await buffer(archiveImage(image, blobs)) }
}

async function entriesOf(name: string, archive: Buffer): Promise<Map<string, Entry>> {
  const path = join(folder, `${name}.oci.tar`)
  writeFileSync(path, archive)
  const entries = await listEntries({ path, start: 0, size: statSync(path).size })
  return new Map(entries.map((entry) => [entry.header.name, entry]))
}

const FILES: readonly Given[] = [
  [{ name: 'etc/', type: 'directory', mode: 0o755 }],
  [{ name: 'etc/a', mode: 0o640, uid: 3, gid: 4 }, 'content'],
  [{ name: 'etc/link', type: 'symlink', linkname: 'a' }],
]

test('two builds at other times, in another order and with other logs are the same archive', async () => {
  const at = (mtime: Date, uname: string): Given[] =>
    FILES.map(([header, content]) => [{ ...header, mtime, uname }, content ?? ''])
  const first = await save('first', at(new Date(1_000), 'root'), '2026-01-01T00:00:00Z')
  const noise: Given[] = [
    [{ name: 'var/log/dpkg.log' }, 'today'],
    [{ name: 'etc/hostname' }, 'builder'],
    [{ name: 'var/cache/ldconfig/aux-cache' }, 'inodes'],
  ]
  const second = await save('second', [...at(new Date(9_000), 'user').toReversed(), ...noise], '2026-02-02T00:00:00Z')
  const [one, two] = [await write(first, 'one'), await write(second, 'two')]
  expect(two.archive.equals(one.archive)).toBe(true)
  expect(two.image.manifest.digest).toBe(one.image.manifest.digest)
})

test('the archive is an OCI layout and what older versions of Docker load', async () => {
  const { image, archive } = await write(await save('layout', FILES, '2026-01-01T00:00:00Z'), 'layout')
  const entries = await entriesOf('layout', archive)
  const read = (name: string) => JSON.parse(entries.get(name)?.read?.().toString() ?? 'null')
  expect(read('oci-layout')).toEqual({ imageLayoutVersion: '1.0.0' })
  expect(read('index.json').manifests).toMatchObject([
    { digest: image.manifest.digest, platform: { architecture: 'amd64', os: 'linux' } },
  ])
  const pathOf = (digest: string): string => `blobs/${digest.replace(':', '/')}`
  const manifest = read(pathOf(image.manifest.digest))
  const config = read(pathOf(manifest.config.digest))
  expect(read('manifest.json')).toEqual([
    { Config: pathOf(manifest.config.digest), RepoTags: ['windlass/test:1'], Layers: [pathOf(manifest.layers[0].digest)] },
  ])
  expect(config).toEqual({
    created: '2023-11-14T22:13:20.000Z',
    architecture: 'amd64',
    os: 'linux',
    config: { Cmd: ['sh'], Env: ['A=1'], Labels: { version: '1' } },
    rootfs: { type: 'layers', diff_ids: [image.layers[0]?.diffId] },
  })
  for (const name of [...entries.keys()].filter((path) => path.startsWith('blobs/sha256/') && !path.endsWith('/')))
    expect(
      createHash('sha256')
        .update(entries.get(name)?.read?.() ?? '')
        .digest('hex'),
    ).toBe(name.slice('blobs/sha256/'.length))
})

test('throws if a layer of the image is missing', async () => {
  const path = join(folder, 'broken.tar')
  const manifest = [{ Config: 'c', RepoTags: null, Layers: ['gone/layer.tar'] }]
  const config = { architecture: 'amd64', os: 'linux', config: {}, rootfs: { diff_ids: ['sha256:1'] } }
  writeFileSync(
    path,
    await tar([
      [{ name: 'manifest.json' }, JSON.stringify(manifest)],
      [{ name: 'c' }, JSON.stringify(config)],
    ]),
  )
  await expect(readSavedImages(path)).rejects.toThrow('has no gone/layer.tar')
})
