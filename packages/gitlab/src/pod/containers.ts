/** The containers of the pod of a job: `build`, `helper`, and one for each service. */
import { RESOURCE_KEYS, type KubernetesSection, type ResourceKey } from '../config/sections/kubernetes-section.ts'
import type { FeatureFlags } from '../job/feature-flags.ts'
import type { Job, JobImage } from '../job/payload.ts'
import type { Variables } from '../job/variables.ts'
import { loopCommand } from '../helper/shell-loop.ts'
import { ConfigurationError } from './configuration-error.ts'
import { requireAllowed, type PullPolicy } from './images.ts'
import type { JobService } from './job-services.ts'
import { resourceOverwrite } from './overwrites.ts'
import { lifecycleOf } from './scheduling.ts'
import { containerSecurity, jobUser, present } from './security.ts'

type Json = Readonly<Record<string, unknown>>

export interface ContainerOptions {
  readonly job: Job
  /** `[runners.kubernetes]` with what variables of the job change in it. */
  readonly section: KubernetesSection
  readonly variables: Variables
  readonly flags: FeatureFlags
  /** Image of the helper, which is always allowed. */
  readonly helperImage: string
  /** Policies of this try: one for each container by its name, and one for all others. */
  readonly pullPolicy: (container: string) => PullPolicy | undefined
  /** Name of the Secret of the job. It has its program, which only the helper mounts, and the variables of services. */
  readonly jobSecret: string
}

/** Folder of the helper with the program of the job, and the shared folder with its log and the pipe to the shell of the job. */
export const PROGRAM_FOLDER = '/run/windlass/job'
export const EXCHANGE_FOLDER = '/run/windlass/exchange'

/** Returns a list, and undefined for an empty one. */
export const listOr = <T>(list: readonly T[]): readonly T[] | undefined => (list.length === 0 ? undefined : list)

/** Returns the image of the job. Throws `ConfigurationError` without one, or for one that is not allowed. */
export function imageOf({ job, section, variables }: Pick<ContainerOptions, 'job' | 'section' | 'variables'>): string {
  const ofJob = variables.expand(job.image?.name ?? '')
  const usual = variables.expand(section.image ?? '')
  const image = ofJob === '' ? usual : ofJob
  if (image === '')
    throw new ConfigurationError(
      'The job names no image, and the runner has no default image. Add `image:` to the job, or `image` to [runners.kubernetes].',
    )
  requireAllowed(image, { kind: 'image', patterns: section.allowed_images, known: [usual] })
  return image
}

/** Shortest value of a variable that is looked for in others. Characters. */
const MIN_SECRET = 4

/** Returns the variables that anybody who can see the container may see. */
export function publicEnvironment({ list }: Pick<Variables, 'list'>): { readonly name: string; readonly value: string }[] {
  const secrets = list.flatMap(({ isPublic, value }) => (isPublic || value.length < MIN_SECRET ? [] : [value]))
  // A public variable can refer to another one. The scripts of the job have all of them.
  const isShown = ({ isPublic, isFile, value }: Variables['list'][number]): boolean =>
    isPublic && !isFile && !secrets.some((secret) => value.includes(secret))
  return list.filter(isShown).map(({ key, value }) => ({ name: key, value }))
}

/** Returns the container of the scripts of the job. */
export function buildContainer(options: ContainerOptions, shared: readonly Json[]): Json {
  const { job, section, variables } = options
  const user = jobUser(userOf(job.image), section)
  const honorsEntrypoint = options.flags.FF_KUBERNETES_HONOR_ENTRYPOINT
  // Kubernetes replaces `$$` and `$(NAME)` in commands.
  const loop = loopCommand(EXCHANGE_FOLDER).map((word) => word.replaceAll('$', '$$$$'))
  const entrypoint = (job.image?.entrypoint ?? []).filter((word) => word !== '')
  return (
    present({
      name: 'build',
      image: imageOf(options),
      imagePullPolicy: options.pullPolicy('build'),
      command: honorsEntrypoint ? listOr(entrypoint) : loop,
      args: honorsEntrypoint ? loop : undefined,
      env: publicEnvironment(variables),
      resources: resourcesOf('', (key) => section[key]),
      volumeMounts: shared,
      securityContext: containerSecurity(section, section.build_container_security_context, user),
      lifecycle: lifecycleOf(section.container_lifecycle),
    }) ?? {}
  )
}

function userOf(image: JobImage | null | undefined): string {
  const user = image?.executor_opts?.kubernetes?.user
  return user === undefined || user === null ? '' : String(user)
}

/** Returns the helper. It has no variables of the job in its environment: they are in its program. */
export function helperContainer(options: ContainerOptions, shared: readonly Json[]): Json {
  const { section, helperImage } = options
  return (
    present({
      name: 'helper',
      image: helperImage,
      imagePullPolicy: options.pullPolicy('helper'),
      command: ['gitlab-runner-helper', 'run-job', '--program', PROGRAM_FOLDER, '--exchange', EXCHANGE_FOLDER],
      resources: resourcesOf('helper_', (key) => section[key]),
      volumeMounts: [...shared, { name: 'program', mountPath: PROGRAM_FOLDER, readOnly: true }],
      securityContext: containerSecurity(section, section.helper_container_security_context),
      lifecycle: lifecycleOf(section.container_lifecycle),
    }) ?? {}
  )
}

/** Returns the container of a service. Its own variables are references to the Secret of the job. */
export function serviceContainer(options: ContainerOptions, service: JobService, shared: readonly Json[]): Json {
  const { section, variables, jobSecret } = options
  const own = service.environment.map(({ name, key }) => ({ name, valueFrom: { secretKeyRef: { name: jobSecret, key } } }))
  return (
    present({
      name: service.container,
      image: service.image,
      imagePullPolicy: options.pullPolicy(service.container),
      command: listOr(service.entrypoint.filter((word) => word !== '')),
      args: listOr(service.command),
      env: [...publicEnvironment(variables), ...own],
      resources: resourcesOf('service_', (key) => resourceOverwrite(section, key, service.lookup) ?? section[key]),
      volumeMounts: shared,
      securityContext: containerSecurity(section, section.service_container_security_context),
      lifecycle: lifecycleOf(section.container_lifecycle),
    }) ?? {}
  )
}

/** Returns `resources` for an owner; undefined if nothing is set. */
export function resourcesOf(
  owner: '' | 'helper_' | 'service_' | 'pod_',
  valueOf: (key: ResourceKey) => string | undefined,
): Json | undefined {
  const part = (kind: 'limit' | 'request'): Json | undefined => {
    const entries = (['cpu', 'memory', 'ephemeral_storage'] as const).flatMap((resource) => {
      const key = RESOURCE_KEYS.find((one) => one === `${owner}${resource}_${kind}`)
      const value = key === undefined ? undefined : valueOf(key)
      return value === undefined || value === '' ? [] : [[resource.replace('_', '-'), value] as const]
    })
    return entries.length === 0 ? undefined : Object.fromEntries(entries)
  }
  return present({ limits: part('limit'), requests: part('request') })
}
