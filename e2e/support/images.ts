import { fileURLToPath } from 'node:url'
import { runProgram } from './process.ts'

/** Logical names of `images/names.json`. */
export type ImageName =
  | 'shell'
  | 'pause'
  | 'debian'
  | 'node'
  | 'tools'
  | 'dind'
  | 'dind-rootless'
  | 'deploy'
  | 'buildkit'
  | 'cosign'
  | 'argocd'
  | 'gitlab-helper'
  | 'windlass'

/** The images that `scripts/test` built for this run, as `NAME_IMAGE=reference` lines. */
const prepared = readLines(process.env['WINDLASS_TEST_IMAGES'] ?? '')
const asked = new Map<string, Promise<Record<string, string>>>()

/**
 * Ensures that the Docker daemon has the images, and returns their references by the variable that examples use (`SHELL_IMAGE`, `DIND_ROOTLESS_IMAGE`, …). A
 * test file asks the daemon once for the same names, and not at all for images that the run prepared.
 */
export async function ensureImages(...names: ImageName[]): Promise<Record<string, string>> {
  const variables = names.map((name) => `${name.toUpperCase().replace('-', '_')}_IMAGE`)
  const known = variables.flatMap((variable) => (prepared[variable] === undefined ? [] : [[variable, prepared[variable]]]))
  if (known.length === names.length) return Object.fromEntries(known)
  const key = names.join(' ')
  const images = asked.get(key) ?? build(names)
  asked.set(key, images)
  return { ...(await images) }
}

async function build(names: readonly ImageName[]): Promise<Record<string, string>> {
  const script = fileURLToPath(new URL('../../scripts/images', import.meta.url))
  return readLines(await runProgram(script, [...names]))
}

function readLines(text: string): Record<string, string> {
  const lines = text.split('\n').filter((line) => line.includes('='))
  return Object.fromEntries(lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]))
}
