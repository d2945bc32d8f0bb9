/** The pod of a job, from its job and the configuration. Pure: the same input gives the same pod. */
import { RESOURCE_KEYS, type KubernetesSection, type ResourceKey } from '../config/kubernetes-section.ts'
import type { RunnerSection } from '../config/schema.ts'
import { PROGRAM_FILE } from '../helper/program.ts'
import { loopCommand } from '../helper/shell-loop.ts'
import type { Job, JobImage } from '../job/payload.ts'
import type { Variables } from '../job/variables.ts'
import { timeoutOf } from '../job/variables.ts'
import { ConfigurationError } from './configuration-error.ts'
import { requireAllowed, type PullPolicy } from './images.ts'
import { podAnnotations, podLabels, podName, type PodIdentity } from './names.ts'
import { resourceOverwrite } from './overwrites.ts'
import { patchSpec } from './patches.ts'
import { affinityOf, dnsPolicyOf, lifecycleOf, tolerationsOf } from './scheduling.ts'
import { containerSecurity, jobUser, podSecurity, present } from './security.ts'
import { nameServices } from './services.ts'
import { configuredVolumes, coversFolder } from './volumes.ts'

type Json = Readonly<Record<string, unknown>>

export interface RenderOptions {
  readonly job: Job
  readonly runner: RunnerSection
  /** `[runners.kubernetes]` with what variables of the job change in it. */
  readonly section: KubernetesSection
  readonly variables: Variables
  readonly identity: PodIdentity
  readonly managerName: string
  /** Labels of Windlass. */
  readonly labels?: Readonly<Record<string, string>>
  /** Image of the helper, which is always allowed. */
  readonly helperImage: string
  /** Policies of this try: one for each container by its name, and one for all others. */
  readonly pullPolicy: (container: string) => PullPolicy | undefined
  /** Names of Secrets with logins of registries. */
  readonly pullSecrets: readonly string[]
  /** Name of the Secret with the program of the job, which only the helper mounts. */
  readonly programSecret: string
  readonly buildsFolder: string
  readonly cacheFolder: string
  /** `FF_USE_POD_ACTIVE_DEADLINE_SECONDS`. Default: true. */
  readonly hasDeadline?: boolean
}

/**
 * Life of a pod after the time limit of its job, for `after_script`, caches and artifacts. The original ends the pod after a second, and loses them. Seconds.
 */
export const LATE_S = 900

/** Folder of the helper with the program of the job, and the shared folder with its log and the pipe to the shell of the job. */
export const PROGRAM_FOLDER = '/run/windlass/job'
export const EXCHANGE_FOLDER = '/run/windlass/exchange'

/** Returns the pod. Throws `ConfigurationError` for what the job asks for and the runner does not allow. */
export function renderPod(options: RenderOptions): Json {
  const { job, section, variables, identity } = options
  const name = podName(identity)
  const { expand } = variables
  const timeoutS = timeoutOf(job)
  const volumes = configuredVolumes(section.volumes, expand)
  const unlessCovered = (one: string, mountPath: string): Json[] =>
    coversFolder(volumes, mountPath) ? [] : [{ name: one, mountPath }]
  const repo = unlessCovered('repo', options.buildsFolder)
  const shared: Json[] = [...volumes.mounts, ...repo]
  // Services do not see it: it has the scripts of the job with all of its variables.
  const exchanged: Json[] = [...shared, { name: 'exchange', mountPath: EXCHANGE_FOLDER }]
  // A user that is not root, or a root file system that is only read, cannot make these folders.
  const ofHelper = [...unlessCovered('cache', options.cacheFolder), ...unlessCovered('helper-tmp', '/tmp')]
  const ofBuild = section.read_only_root_filesystem === true ? unlessCovered('build-tmp', '/tmp') : []
  const services = servicesOf(options)
  const names = nameServices(services.map(({ name: image, alias }) => ({ name: image, alias })))
  const hostNames = names.flatMap((service) => service.hostNames)
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      ...(section.namespace !== undefined && { namespace: section.namespace }),
      labels: {
        ...podLabels({
          job,
          pod: name,
          token: identity.token,
          managerName: options.managerName,
          own: section.pod_labels ?? {},
          expand,
        }),
        ...options.labels,
      },
      annotations: podAnnotations(job, timeoutS, section.pod_annotations ?? {}, expand),
    },
    spec: patched(
      options,
      present({
        restartPolicy: 'Never',
        activeDeadlineSeconds: options.hasDeadline === false ? undefined : timeoutS + LATE_S,
        terminationGracePeriodSeconds: section.pod_termination_grace_period_seconds ?? section.terminationGracePeriodSeconds,
        serviceAccountName: section.service_account,
        automountServiceAccountToken: section.automount_service_account_token,
        runtimeClassName: section.runtime_class_name,
        schedulerName: section.scheduler_name,
        priorityClassName: section.priority_class_name,
        nodeSelector: expanded(section.node_selector, expand),
        tolerations: listOr(tolerationsOf(section.node_tolerations)),
        affinity: affinityOf(section.affinity),
        dnsPolicy: dnsPolicyOf(section.dns_policy),
        dnsConfig: section.dns_config,
        hostAliases: listOr([
          ...(hostNames.length === 0 ? [] : [{ ip: '127.0.0.1', hostnames: [...new Set(hostNames)] }]),
          ...(section.host_aliases ?? []),
        ]),
        imagePullSecrets:
          section.use_service_account_image_pull_secrets === true
            ? undefined
            : listOr([...(section.image_pull_secrets ?? []), ...options.pullSecrets].map((secret) => ({ name: secret }))),
        securityContext: podSecurity(section.pod_security_context),
        resources: resourcesOf('pod_', (key) => section[key]),
        volumes: [
          ...volumes.volumes,
          ...[...repo, { name: 'exchange' }, ...ofHelper, ...ofBuild].map(({ name: one }) => ({ name: one, emptyDir: {} })),
          {
            name: 'program',
            secret: { secretName: options.programSecret, items: [{ key: PROGRAM_FILE, path: PROGRAM_FILE }], defaultMode: 0o444 },
          },
        ],
        containers: [
          buildContainer(options, [...exchanged, ...ofBuild]),
          helperContainer(options, [...exchanged, ...ofHelper]),
          ...services.map((service, index) =>
            serviceContainer(options, { service, container: names[index]?.container ?? `svc-${index}`, shared }),
          ),
        ],
      }) ?? {},
    ),
  }
}

/** Patches have an effect only with their feature flag, as those of the original. */
function patched({ section, runner }: RenderOptions, spec: Json): Json {
  return runner.feature_flags?.['FF_USE_ADVANCED_POD_SPEC_CONFIGURATION'] === true ? patchSpec(spec, section.pod_spec) : spec
}

const listOr = <T>(list: readonly T[]): readonly T[] | undefined => (list.length === 0 ? undefined : list)

function expanded(table: Readonly<Record<string, string>> | undefined, expand: (text: string) => string): Json | undefined {
  return table === undefined ? undefined : Object.fromEntries(Object.entries(table).map(([key, value]) => [key, expand(value)]))
}

interface Service {
  readonly name: string
  readonly alias: string
  readonly command: readonly string[]
  readonly entrypoint: readonly string[]
  readonly environment: readonly Json[]
  /** Own variables, which can change the resources of this container. */
  readonly lookup: (name: string) => string | undefined
}

/** Services of the configuration come first. Throws `ConfigurationError` for an image that is not allowed. */
function servicesOf({ job, section, variables }: RenderOptions): Service[] {
  const { expand } = variables
  const configured = (section.services ?? []).map((one): Service => ({
    name: expand(one.name),
    alias: expand(one.alias ?? ''),
    command: one.command ?? [],
    entrypoint: one.entrypoint ?? [],
    environment: (one.environment ?? []).map((entry) => {
      const at = entry.indexOf('=')
      return { name: entry.slice(0, at), value: expand(entry.slice(at + 1)) }
    }),
    lookup: () => undefined,
  }))
  const known = configured.map(({ name }) => name)
  const ofJob = job.services.map((one): Service => {
    const name = expand(one.name)
    requireAllowed(name, { kind: 'service', patterns: section.allowed_services, known })
    return {
      name,
      alias: expand(one.alias),
      command: one.command,
      entrypoint: one.entrypoint,
      environment: one.variables.map(({ key, value, raw }) => ({ name: key, value: raw === true ? value : expand(value) })),
      lookup: (wanted) => one.variables.find(({ key }) => key === wanted)?.value,
    }
  })
  return [...configured, ...ofJob]
}

/** Returns the image of the job. Throws `ConfigurationError` without one, or for one that is not allowed. */
export function imageOf({ job, section, variables }: Pick<RenderOptions, 'job' | 'section' | 'variables'>): string {
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

/** Variables that anybody who can see the pod may see. */
function publicEnvironment({ list }: Variables): Json[] {
  const secrets = list.flatMap(({ isPublic, value }) => (isPublic || value.length < MIN_SECRET ? [] : [value]))
  // A public variable can refer to another one. The scripts of the job have all of them.
  const isShown = ({ isPublic, isFile, value }: Variables['list'][number]): boolean =>
    isPublic && !isFile && !secrets.some((secret) => value.includes(secret))
  return list.filter(isShown).map(({ key, value }) => ({ name: key, value }))
}

function buildContainer(options: RenderOptions, shared: readonly Json[]): Json {
  const { job, runner, section, variables } = options
  const user = jobUser(userOf(job.image), section)
  const honorsEntrypoint = runner.feature_flags?.['FF_KUBERNETES_HONOR_ENTRYPOINT'] === true
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

/** The helper gets no variables of the job in its environment: they are in its program. */
function helperContainer(options: RenderOptions, shared: readonly Json[]): Json {
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

function serviceContainer(
  options: RenderOptions,
  { service, container, shared }: { readonly service: Service; readonly container: string; readonly shared: readonly Json[] },
): Json {
  const { section, variables } = options
  return (
    present({
      name: container,
      image: service.name,
      imagePullPolicy: options.pullPolicy(container),
      command: listOr(service.entrypoint.filter((word) => word !== '')),
      args: listOr(service.command),
      env: [...publicEnvironment(variables), ...service.environment],
      resources: resourcesOf('service_', (key) => resourceOverwrite(section, key, service.lookup) ?? section[key]),
      volumeMounts: shared,
      securityContext: containerSecurity(section, section.service_container_security_context),
      lifecycle: lifecycleOf(section.container_lifecycle),
    }) ?? {}
  )
}

/** Returns `resources` for an owner; undefined if nothing is set. */
function resourcesOf(
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
