/** Settings of the bench: where it finds Docker and the cluster. Only this file reads the environment. */
import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

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
