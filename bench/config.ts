/** Settings of the bench: where it finds Docker, the cluster and the programs. Only this file reads the environment. */
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'

const socket =
  process.env['DOCKER_HOST']?.startsWith('unix://') === true ? process.env['DOCKER_HOST'].slice('unix://'.length) : undefined
const kubeconfig = process.env['KUBECONFIG'] ?? join(homedir(), '.kube', 'config')

export const benchConfig = Object.freeze({
  /** Address of Docker, as the user set it. */
  environment: process.env,
  dockerSocket: socket ?? '/var/run/docker.sock',
  /** Undefined if the file does not exist. */
  kubeconfig: existsSync(kubeconfig) ? kubeconfig : undefined,
})

/** The folder of bundles, in the words of `e2e/support/programs.ts`. */
const PROGRAMS = 'WINDLASS_PROGRAMS'

/**
 * Bundles the programs, unless the environment names a folder with them: the sources of a program take twice the memory of the bundle that the images have, and other
 * times. Call it before a module that starts programs is imported.
 */
export function bundlePrograms(): void {
  if (process.env[PROGRAMS] !== undefined) return
  const folder = resolve('.windlass/bench-programs')
  execFileSync(process.execPath, [join(import.meta.dirname, '../scripts/testing/programs.ts'), folder], { stdio: 'ignore' })
  process.env[PROGRAMS] = folder
}
