/** The pod of a job, from its job and the configuration. Pure: the same input gives the same pod. */
import { PROGRAM_FILE } from '../helper/program.ts'
import { timeoutOf } from '../job/variables.ts'
import {
  buildContainer,
  EXCHANGE_FOLDER,
  helperContainer,
  listOr,
  resourcesOf,
  serviceContainer,
  type ContainerOptions,
} from './containers.ts'
import type { JobService } from './job-services.ts'
import { podAnnotations, podLabels, podName, type PodIdentity } from './names.ts'
import { patchSpec } from './patches.ts'
import { affinityOf, dnsPolicyOf, tolerationsOf } from './scheduling.ts'
import { podSecurity, present } from './security.ts'
import { configuredVolumes, coversFolder } from './volumes.ts'

type Json = Readonly<Record<string, unknown>>

export interface RenderOptions extends ContainerOptions {
  readonly services: readonly JobService[]
  readonly identity: PodIdentity
  readonly managerName: string
  /** Labels of Windlass. */
  readonly labels?: Readonly<Record<string, string>>
  /** Life of the pod after its job, for a terminal. Seconds. Default: 0. */
  readonly terminalS?: number
  /** Names of Secrets with logins of registries. */
  readonly pullSecrets: readonly string[]
  readonly buildsFolder: string
  readonly cacheFolder: string
}

/**
 * Life of a pod after the time limit of its job, for `after_script`, caches and artifacts. The original ends the pod after a second, and loses them. Seconds.
 */
export const LATE_S = 900

/** Returns the time after which the pod of a job ends whatever it does. Seconds. */
export function lifeOf({
  timeoutS,
  terminalS = 0,
}: {
  readonly timeoutS: number
  readonly terminalS?: number | undefined
}): number {
  return timeoutS + LATE_S + terminalS
}

/** Returns the pod. Throws `ConfigurationError` for what the job asks for and the runner does not allow. */
export function renderPod(options: RenderOptions): Json {
  const { job, section, variables, identity, services } = options
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
  const hostNames = services.flatMap((service) => service.hostNames)
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
        activeDeadlineSeconds: options.flags.FF_USE_POD_ACTIVE_DEADLINE_SECONDS
          ? lifeOf({ timeoutS, terminalS: options.terminalS })
          : undefined,
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
            secret: { secretName: options.jobSecret, items: [{ key: PROGRAM_FILE, path: PROGRAM_FILE }], defaultMode: 0o444 },
          },
        ],
        containers: [
          buildContainer(options, [...exchanged, ...ofBuild]),
          helperContainer(options, [...exchanged, ...ofHelper]),
          ...services.map((service) => serviceContainer(options, service, shared)),
        ],
      }) ?? {},
    ),
  }
}

/** Patches have an effect only with their feature flag, as those of the original. */
function patched({ section, flags }: RenderOptions, spec: Json): Json {
  return flags.FF_USE_ADVANCED_POD_SPEC_CONFIGURATION ? patchSpec(spec, section.pod_spec) : spec
}

function expanded(table: Readonly<Record<string, string>> | undefined, expand: (text: string) => string): Json | undefined {
  return table === undefined ? undefined : Object.fromEntries(Object.entries(table).map(([key, value]) => [key, expand(value)]))
}
