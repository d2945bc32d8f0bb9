import { describe, expect, test } from 'vitest'
import { chooseImages, choosePurge, chooseVolumes, type DaemonImage, type DaemonState } from './daemon.ts'
import { lineOf, UseHistory, usesOf } from './history.ts'
import { readCleanSettings } from './settings.ts'

const NOW = 1_800_000_000
const HOUR = 3_600
const { settings } = readCleanSettings({})

function image(id: string, fields: Partial<DaemonImage> = {}): DaemonImage {
  return { id, parentId: '', names: [`${id}:1`], labels: {}, createdAt: NOW - 100 * HOUR, ...fields }
}

function state(fields: Partial<DaemonState>): DaemonState {
  return { images: [], volumes: [], imagesInUse: new Set(), volumesInUse: new Set(), ...fields }
}

function used(...uses: (readonly ['image' | 'volume', string, number])[]): UseHistory {
  const history = new UseHistory()
  history.add(uses.map(([kind, name, hours]) => ({ kind, name, at: NOW - hours * HOUR })))
  return history
}

const ids = (images: readonly { id: string }[]): string[] => images.map(({ id }) => id)
const choose = (images: DaemonImage[], history = used(), inUse: string[] = []): string[] =>
  ids(chooseImages(state({ images, imagesInUse: new Set(inUse) }), { history, settings, nowSeconds: NOW }))

describe('images', () => {
  test('keeps an image that was used within the period and removes one used earlier or never (R105)', () => {
    expect(
      choose([image('recent'), image('long-ago'), image('never')], used(['image', 'recent:1', 3], ['image', 'long-ago', 5])),
    ).toEqual(['long-ago', 'never'])
  })

  test('keeps an image that was used 3 h ago for 4 h with all its parents (V17)', () => {
    const line = [
      image('base'),
      image('middle', { parentId: 'base' }),
      image('top', { parentId: 'middle' }),
      image('other', { parentId: 'base' }),
    ]
    expect(choose(line, used(['image', 'top', 3]))).toEqual(['other'])
    expect(choose(line, used(['image', 'top', 4.1]))).toEqual(['top', 'middle', 'other', 'base'])
  })

  test('keeps images of containers and removes children before their parents (R109)', () => {
    const images = [image('a'), image('b', { parentId: 'a' }), image('c', { parentId: 'b' }), image('d')]
    expect(choose(images)).toEqual(['c', 'b', 'a', 'd'])
    expect(choose(images, used(), ['b'])).toEqual(['c', 'd'])
  })

  test('matches the names that people write with those that the daemon lists', () => {
    const alpine = image('x', { names: ['alpine:latest'] })
    for (const name of ['alpine', 'alpine:latest', 'docker.io/library/alpine', 'docker.io/alpine:latest'])
      expect(choose([alpine], used(['image', name, 1]))).toEqual([])
    for (const name of ['alpin', 'alpine:3', 'my/alpine']) expect(choose([alpine], used(['image', name, 1]))).toEqual(['x'])
  })

  test('keeps young images, tools of builds and images with the label of tools', () => {
    const images = [
      image('young', { createdAt: NOW - HOUR }),
      image('tools', { names: ['windlass/tools:1.0.0'] }),
      image('fs-ops', { names: ['quay.io/codefresh/fs-ops@sha256:1'] }),
      image('labelled', { labels: { 'io.codefresh.engine': 'true' } }),
      image('like-tools', { names: ['evil/windlass/tools:1'] }),
    ]
    expect(choose(images)).toEqual(['like-tools'])
  })

  test('ends if parents of images form a loop', () => {
    expect(choose([image('a', { parentId: 'b' }), image('b', { parentId: 'a' })])).toHaveLength(2)
  })

  test('purges used images, but not those in use, young ones or tools (V18)', () => {
    const images = [
      image('used'),
      image('old'),
      image('young', { createdAt: NOW - 2 * HOUR }),
      image('tools', { names: ['windlass/tools:1'] }),
    ]
    expect(ids(choosePurge(state({ images, imagesInUse: new Set(['used']) }), NOW))).toEqual(['old'])
  })
})

test('removes volumes that no event of the period names, by their whole name, and none in use (R106)', () => {
  const old = { createdAt: NOW - 100 * HOUR }
  const volumes = ['cache', 'cache-2', 'busy', 'long-ago', 'unknown'].map((name) => ({ name, ...old }))
  const chosen = chooseVolumes(
    state({
      volumes: [...volumes, { name: 'new', createdAt: NOW - HOUR }, { name: 'dateless', createdAt: undefined }],
      volumesInUse: new Set(['busy']),
    }),
    { history: used(['volume', 'cache-2', 1], ['volume', 'long-ago', 4.5]), settings, nowSeconds: NOW },
  )
  expect(chosen.map(({ name }) => name)).toEqual(['cache', 'long-ago', 'unknown', 'dateless'])
})

describe('history', () => {
  test('reads from the events of a daemon what was used when (R105)', () => {
    const lines = [
      '{"status":"create","id":"c1","from":"alpine","Type":"container","Action":"create","Actor":{"ID":"c1","Attributes":{"image":"alpine","name":"x"}},"time":10}',
      '{"Type":"image","Action":"pull","Actor":{"ID":"node:24","Attributes":{"name":"node"}},"time":20}',
      '{"Type":"image","Action":"tag","Actor":{"ID":"sha256:1","Attributes":{"name":"app:1"}},"time":30}',
      '{"Type":"volume","Action":"mount","Actor":{"ID":"work","Attributes":{}},"time":40}',
      '{"Type":"image","Action":"delete","Actor":{"ID":"sha256:2"},"time":50}',
      '{"Type":"volume","Action":"destroy","Actor":{"ID":"gone"},"time":50}',
      'no json',
      '[1]',
      '{"Type":"container","Action":"create"}',
    ]
    expect(lines.flatMap(usesOf).map(({ kind, name, at }) => `${kind} ${name} ${at}`)).toEqual([
      'image alpine 10',
      'image node:24 20',
      'image node 20',
      'image sha256:1 30',
      'image app:1 30',
      'volume work 40',
    ])
  })

  test('reads back what it has written, the last use of each', () => {
    const history = used(['image', 'a', 2], ['image', 'a', 1], ['volume', 'a', 3])
    expect(history.all().flatMap((use) => usesOf(lineOf(use)))).toEqual(history.all())
    expect(history.all()).toHaveLength(2)
    expect(history.since('image', NOW - 1.5 * HOUR)).toEqual(new Set(['a']))
    expect(history.since('volume', NOW - 1.5 * HOUR)).toEqual(new Set())
  })
})
