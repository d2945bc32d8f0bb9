/** The charts as archives whose images are pinned by digest. */
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { listFiles } from './files.ts'
import { fileEntry, type Entry } from './tar.ts'

const charts = resolve(import.meta.dirname, '../../charts')

export const CHARTS = ['windlass', 'windlass-runtime', 'windlass-gitlab-runner', 'windlass-gitops-runtime'] as const
export type Chart = (typeof CHARTS)[number]

/** Digests of the manifests of the images that the charts name. */
export interface ChartDigests {
  readonly windlass: string
  readonly dind: string
  /** Not all releases have these two. */
  readonly 'dind-rootless'?: string
  readonly 'gitlab-helper'?: string
}

/** The empty `digest` of an image in the values of a chart, by the name of the image. */
const PINS: Readonly<Record<Chart, readonly (readonly [keyof ChartDigests, RegExp])[]>> = {
  windlass: [['windlass', /(?<=^ {2}repository: windlass\/windlass\n(?: {2}.*\n)*? {2}digest: )''/gm]],
  'windlass-runtime': [
    ['windlass', /(?<=^ {2}repository: windlass\/windlass\n(?: {2}.*\n)*? {2}digest: )''/gm],
    ['dind', /(?<=repository: windlass\/dind, tag: '', digest: )''/g],
    ['dind-rootless', /(?<=repository: windlass\/dind-rootless, tag: '', digest: )''/g],
    ['gitlab-helper', /(?<=^ {2}helperDigest: )''/gm],
  ],
  'windlass-gitops-runtime': [['windlass', /(?<=^ {2}repository: windlass\/windlass\n(?: {2}.*\n)*? {2}digest: )''/gm]],
  'windlass-gitlab-runner': [
    ['windlass', /(?<=^managerDigest: )''/gm],
    ['gitlab-helper', /(?<=^helperDigest: )''/gm],
  ],
}

/** Returns the files of a chart below `folder`, for an archive. Throws if the values do not name each image once. */
export function chartEntries(chart: Chart, digests: ChartDigests, folder: string = chart): Entry[] {
  return listFiles(join(charts, chart)).map((path) => {
    const content = readFileSync(join(charts, chart, path))
    return fileEntry(`${folder}/${path}`, path === 'values.yaml' ? pinImages(chart, content.toString(), digests) : content)
  })
}

/** Writes the digests into the values of a chart. */
export function pinImages(chart: Chart, values: string, digests: ChartDigests): string {
  return PINS[chart].reduce((text, [image, place]) => {
    const found = text.match(place)?.length ?? 0
    if (found !== 1) throw new Error(`the values of ${chart} have ${found} places for the digest of ${image}, not one`)
    return text.replace(place, `'${digests[image] ?? ''}'`)
  }, values)
}
