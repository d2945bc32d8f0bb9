import { fileURLToPath } from 'node:url'
import { runProgram } from './process.ts'

/** Logical names of `images/names.json`. */
export type ImageName = 'shell' | 'debian' | 'node' | 'tools' | 'dind' | 'deploy' | 'buildkit' | 'cosign' | 'windlass'

/**
 * Makes sure that the Docker daemon has the images, and returns their references by the variable that examples use
 * (`SHELL_IMAGE`, `NODE_IMAGE`, …). A third of a second when all are there.
 */
export async function ensureImages(...names: ImageName[]): Promise<Record<string, string>> {
  const script = fileURLToPath(new URL('../../scripts/images', import.meta.url))
  const lines = (await runProgram(script, names)).split('\n')
  return Object.fromEntries(lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]))
}
