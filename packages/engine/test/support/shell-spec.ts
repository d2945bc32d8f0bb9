import type { ContainerSpec } from '../../src/docker/containers.ts'
import { image } from './images.ts'

/** A container of the shell image with nothing but what is given. */
export function shellSpec(given: Partial<ContainerSpec>): ContainerSpec {
  return { image: image('shell'), environment: [], labels: {}, mounts: [], network: 'none', stdin: false, ...given }
}
