/** Where the bench finds its real parts; the only reader of the environment here. */
import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

const socket =
  process.env['DOCKER_HOST']?.startsWith('unix://') === true ? process.env['DOCKER_HOST'].slice('unix://'.length) : undefined
const kubeconfig = process.env['KUBECONFIG'] ?? join(homedir(), '.kube', 'config')

export const benchConfig = Object.freeze({
  /** How to reach Docker, as the user set it. */
  environment: process.env,
  dockerSocket: socket ?? '/var/run/docker.sock',
  /** Undefined when there is no such file. */
  kubeconfig: existsSync(kubeconfig) ? kubeconfig : undefined,
})
