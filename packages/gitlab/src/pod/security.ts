/** Security contexts of the pod and its containers, from the configuration and the job. */
import type { KubernetesSection } from '../config/sections/kubernetes-section.ts'
import type { ContainerSecurityContext, PodSecurityContext } from '../config/sections/security-section.ts'
import { ConfigurationError } from './configuration-error.ts'

type Json = Readonly<Record<string, unknown>>

/** Returns an object without its undefined fields; undefined if nothing is left. */
export function present<T extends Json>(fields: T): T | undefined {
  const left = Object.entries(fields).filter(([, value]) => value !== undefined)
  // The fields keep their types.
  return left.length === 0 ? undefined : (Object.fromEntries(left) as T)
}

/** Returns `securityContext` of the pod. */
export function podSecurity(context: PodSecurityContext = {}): Json | undefined {
  return present({
    fsGroup: context.fs_group,
    runAsGroup: context.run_as_group,
    runAsNonRoot: context.run_as_non_root,
    runAsUser: context.run_as_user,
    supplementalGroups: context.supplemental_groups,
    seLinuxOptions: context.selinux_type === undefined ? undefined : { type: context.selinux_type },
    seccompProfile: profileOf(context.seccomp_profile),
    appArmorProfile: profileOf(context.app_armor_profile),
  })
}

interface User {
  readonly uid: number
  readonly gid: number | undefined
}

/** Returns `securityContext` of a container. `user` is that of the job, for containers that run what the job names. */
export function containerSecurity(
  section: KubernetesSection,
  context: ContainerSecurityContext = {},
  user?: User,
): Json | undefined {
  const pod = section.pod_security_context
  const isOfPod = pod?.run_as_user !== undefined
  return present({
    privileged: context.privileged ?? section.privileged,
    allowPrivilegeEscalation: context.allow_privilege_escalation ?? section.allow_privilege_escalation,
    capabilities: capabilitiesOf(section, context),
    readOnlyRootFilesystem: context.read_only_root_filesystem ?? section.read_only_root_filesystem,
    runAsUser: context.run_as_user ?? (isOfPod ? undefined : user?.uid),
    runAsGroup: context.run_as_group ?? (isOfPod || context.run_as_user !== undefined ? undefined : user?.gid),
    runAsNonRoot: context.run_as_non_root,
    procMount: procMountOf(context.proc_mount),
    seLinuxOptions: context.selinux_type === undefined ? undefined : { type: context.selinux_type },
    seccompProfile: profileOf(context.seccomp_profile),
    appArmorProfile: profileOf(context.app_armor_profile),
  })
}

function profileOf(profile: { type?: string | undefined; localhost_profile?: string | undefined } | undefined): Json | undefined {
  return profile === undefined ? undefined : present({ type: profile.type, localhostProfile: profile.localhost_profile })
}

function procMountOf(text: string | undefined): string | undefined {
  if (text === undefined || text === '') return undefined
  return text.toLowerCase() === 'unmasked' ? 'Unmasked' : 'Default'
}

/** `NET_RAW` is dropped unless it is added. What is dropped by the configuration wins over what is added. */
function capabilitiesOf(section: KubernetesSection, context: ContainerSecurityContext): Json | undefined {
  const plain = (names: readonly string[] = []): string[] => names.map((name) => name.toUpperCase().replace(/^CAP_/, ''))
  const added = plain(context.capabilities?.add ?? section.cap_add)
  const dropped = plain(context.capabilities?.drop ?? section.cap_drop)
  const add = [...new Set(added)].filter((name) => !dropped.includes(name))
  const drop = [...new Set([...dropped, ...(added.includes('NET_RAW') ? [] : ['NET_RAW'])])]
  return present({ add: add.length === 0 ? undefined : add, drop: drop.length === 0 ? undefined : drop })
}

/**
 * Reads `image.kubernetes.user` of a job: `uid` or `uid:gid`. Zero needs to be listed in `allowed_users` or `allowed_groups`; other numbers are allowed if
 * there is no list. Throws `ConfigurationError`.
 */
export function jobUser(text: string, { allowed_users: users, allowed_groups: groups }: KubernetesSection): User | undefined {
  if (text === '') return undefined
  const match = /^(\d{1,10})(?::(\d{1,10}))?$/.exec(text)
  if (match === null) throw new ConfigurationError(`The user "${text}" of the job is not of the form uid or uid:gid.`)
  const uid = Number(match[1])
  const gid = match[2] === undefined ? undefined : Number(match[2])
  requireListed(uid, users, 'user')
  if (gid !== undefined) requireListed(gid, groups, 'group')
  return { uid, gid }
}

/** Numbers are compared, so that `00` is the root user as well. */
function requireListed(id: number, allowed: readonly string[] | undefined, kind: 'user' | 'group'): void {
  const isListed = allowed?.some((one) => /^\d+$/.test(one) && Number(one) === id) ?? false
  if (isListed || (id !== 0 && (allowed === undefined || allowed.length === 0))) return
  throw new ConfigurationError(`The ${kind} ${id} of the job is not in the list allowed_${kind}s of this runner.`)
}
