/**
 * The containers of a job on a Docker daemon: `helper`, `build` and one for each service, as in a pod. They share the network of the helper, so services are
 * reached at `localhost` and by their names, and the volumes with the sources, the caches and the pipe to the shell of the job.
 */
import type { ContainerMount, ContainerSpec } from '@windlass/engine/docker'
import { loopCommand } from '../helper/shell-loop.ts'
import { EXCHANGE_FOLDER, listOr, PROGRAM_FOLDER, publicEnvironment } from '../pod/containers.ts'
import type { JobService } from '../pod/job-services.ts'
import { BUILDS_FOLDER, CACHE_FOLDER, type ExecPlan } from './exec-plan.ts'

/** Label of everything that a run has; its value names the run. */
export const LABEL_RUN = 'windlass.io/gitlab-exec'
/** Label with the part of a container: `helper`, `build` or `service`. */
export const LABEL_PART = 'windlass.io/gitlab-part'
/** Label with the start of the run. Epoch milliseconds. */
export const LABEL_STARTED = 'windlass.io/gitlab-started'

export interface SceneOptions {
  readonly plan: ExecPlan
  readonly helperImage: string
  readonly labels: Readonly<Record<string, string>>
  readonly volumes: { readonly builds: string; readonly exchange: string; readonly cache: string }
  readonly isPrivileged: boolean
}

function mountsOf({ volumes }: SceneOptions): ContainerMount[] {
  const mount = (source: string, target: string): ContainerMount => ({ type: 'volume', source, target, readOnly: false })
  return [mount(volumes.builds, BUILDS_FOLDER), mount(volumes.cache, CACHE_FOLDER), mount(volumes.exchange, EXCHANGE_FOLDER)]
}

/** Returns the helper, which has the network of all containers. */
export function helperSpec(options: SceneOptions): ContainerSpec {
  const names = options.plan.services.flatMap(({ hostNames }) => hostNames)
  return {
    image: options.helperImage,
    entrypoint: ['gitlab-runner-helper', 'run-job', '--program', PROGRAM_FOLDER, '--exchange', EXCHANGE_FOLDER, '--attached'],
    environment: [],
    user: '0:0',
    labels: { ...options.labels, [LABEL_PART]: 'helper' },
    mounts: mountsOf(options),
    network: 'bridge',
    hosts: Object.fromEntries(names.map((name) => [name, '127.0.0.1'])),
    stdin: true,
  }
}

/** Returns the container of the script. An entrypoint of the job gets the shell as its arguments. */
export function buildSpec(options: SceneOptions, helper: string): ContainerSpec {
  const { plan } = options
  const loop = loopCommand(EXCHANGE_FOLDER)
  const hasEntrypoint = plan.entrypoint.length > 0
  return {
    image: plan.image,
    entrypoint: hasEntrypoint ? plan.entrypoint : loop,
    command: hasEntrypoint ? loop : [],
    environment: environmentOf(plan),
    user: plan.user,
    labels: { ...options.labels, [LABEL_PART]: 'build' },
    mounts: mountsOf(options),
    network: `container:${helper}`,
    privileged: options.isPrivileged,
    stdin: false,
  }
}

/** Returns the container of a service. */
export function serviceSpec(options: SceneOptions, service: JobService, helper: string): ContainerSpec {
  return {
    image: service.image,
    entrypoint: listOr(service.entrypoint.filter((word) => word !== '')),
    command: listOr(service.command),
    environment: [...environmentOf(options.plan), ...service.environment.map(({ name, value }) => `${name}=${value}`)],
    labels: { ...options.labels, [LABEL_PART]: 'service' },
    mounts: mountsOf(options),
    network: `container:${helper}`,
    privileged: options.isPrivileged,
    stdin: false,
  }
}

function environmentOf({ variables }: ExecPlan): string[] {
  return publicEnvironment(variables).map(({ name, value }) => `${name}=${value}`)
}
