/** Shapes of the containers of an attempt: the engine, the Docker daemon, and the init containers of the runtime. */
import { allowedBy, names, type Scope } from './agent-policy.ts'
import { isListedImage } from './image.ts'
import { all, flag, oneOf, list, mapping, NO_SETTING, quote, record, text, integer, type Shape } from './shape.ts'
import { checkSecret, fieldShape } from './volumes.ts'

export type ContainerRole = 'engine' | 'dind' | 'init'

const RESOURCES = ['cpu', 'memory', 'ephemeral-storage']
/** Variables that the image of the Docker daemon reads, and those of proxies and certificate authorities. */
const DAEMON_VARIABLES = [
  'CLEAN*',
  'IMAGE_RETAIN_PERIOD',
  'VOLUMES_RETAIN_PERIOD',
  'DISK_USAGE_THRESHOLD',
  'INODES_USAGE_THRESHOLD',
  'DOCKERD_DATA_ROOT',
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'NO_PROXY',
  'http_proxy',
  'https_proxy',
  'no_proxy',
  'SSL_CERT_DIR',
  'SSL_CERT_FILE',
  'CODEFRESH_CLIENT_CA_DATA',
  'POD_NAME',
  'TZ',
]

/** Returns the shape of a container. Only that of the daemon may be privileged, with an allowed image and its entrypoint. */
export function containerShape(role: ContainerRole, scope: Scope): Shape {
  const common = {
    name: role === 'init' ? text() : oneOf([role]),
    image: role === 'dind' ? daemonImage(scope) : text(),
    imagePullPolicy: oneOf(['Always', 'IfNotPresent', 'Never']),
    env: list(variableShape(role, scope)),
    resources: resourcesShape(scope),
    securityContext: securityShape(role),
    volumeMounts: list(mountShape(role)),
  }
  const args = list(text())
  const ports = list(record({ name: text(), containerPort: integer(1), protocol: oneOf(['TCP']) }, ['containerPort']))
  const more: Readonly<Record<ContainerRole, Readonly<Record<string, Shape>>>> = {
    engine: { command: args, ports },
    dind: { ports },
    init: { command: args, args, workingDir: text() },
  }
  return record({ ...common, ...more[role] }, ['name', 'image'])
}

function daemonImage({ policy }: Scope): Shape {
  return text((value) =>
    isListedImage(value, policy.privilegedImages)
      ? undefined
      : `is ${quote(value)}, which may not run privileged. ${allowedBy('PRIVILEGED_IMAGES')}`,
  )
}

/** Returns the shape of a variable: a value, or a reference to a key of a ConfigMap or an allowed Secret, or to a field of the pod. */
function variableShape(role: ContainerRole, scope: Scope): Shape {
  const key = { key: text(), optional: flag }
  const valueFrom = record({
    secretKeyRef: record({ ...key, name: (value, place) => checkSecret(value, scope, place) }, ['name', 'key']),
    configMapKeyRef: record({ ...key, name: text() }, ['name', 'key']),
    fieldRef: fieldShape,
  })
  const allowed = [...DAEMON_VARIABLES, ...scope.policy.daemonVariables]
  const name = text((value) =>
    role !== 'dind' || names(allowed, value)
      ? undefined
      : `is ${quote(value)}, which is not a variable of the Docker daemon. ${allowedBy('DAEMON_VARIABLES')}`,
  )
  return record({ name, value: text(), valueFrom }, ['name'])
}

/** Returns the shape of resources. Resources that are not in the list are devices of nodes. */
function resourcesShape({ policy }: Scope): Shape {
  const amounts = mapping((key, value, place) => {
    text()(value, place)
    if (!RESOURCES.includes(key) && !names(policy.resources, key))
      place.refuse(place.path, `is not allowed. ${allowedBy('ALLOWED_RESOURCES')}`)
  })
  return record({ requests: amounts, limits: amounts })
}

const RUNTIME_DEFAULT = record({ type: oneOf(['RuntimeDefault']) }, ['type'])
const USER = { runAsUser: integer(), runAsGroup: integer(), runAsNonRoot: flag }

/** Returns the shape of a security context, which grants nothing beyond the image. Only the daemon is privileged. */
function securityShape(role: ContainerRole): Shape {
  const isDaemon = role === 'dind'
  return record({
    ...USER,
    readOnlyRootFilesystem: flag,
    privileged: isDaemon ? flag : oneOf([false]),
    // A privileged container has it in any case.
    allowPrivilegeEscalation: isDaemon ? flag : oneOf([false]),
    capabilities: record({ drop: list(text()) }),
    procMount: oneOf(['Default']),
    seccompProfile: RUNTIME_DEFAULT,
    appArmorProfile: RUNTIME_DEFAULT,
  })
}

/** The security context of a pod. */
export const POD_SECURITY: Shape = record({
  ...USER,
  fsGroup: integer(),
  fsGroupChangePolicy: oneOf(['OnRootMismatch', 'Always']),
  supplementalGroups: list(integer()),
  seccompProfile: RUNTIME_DEFAULT,
  appArmorProfile: RUNTIME_DEFAULT,
})

function mountShape(role: ContainerRole): Shape {
  const inside = text((value) => (isPlain(value) ? undefined : `is ${quote(value)}, which is not a plain path. ${NO_SETTING}`))
  const mountPath = role === 'dind' ? all(inside, text(daemonFolder)) : inside
  const fields = { name: text(), mountPath, subPath: all(inside, relative), readOnly: flag }
  return record({ ...fields, mountPropagation: oneOf(['None', 'HostToContainer']) }, ['name', 'mountPath'])
}

const relative: Shape = text((value) =>
  value.startsWith('/') ? `is ${quote(value)}, which leaves its volume. ${NO_SETTING}` : undefined,
)

function isPlain(path: string): boolean {
  return !path.includes('//') && !path.split('/').some((part) => part === '.' || part === '..')
}

/** Folders of the daemon's image with programs and the files that they read at start, including all paths below them. */
const PROGRAMS: readonly RegExp[] = [
  /^\/(bin|sbin|lib[^/]*|boot|proc|sys)(\/|$)/,
  /^\/usr\/(bin|sbin|lib[^/]*|share\/windlass)(\/|$)/,
  /^\/usr\/local\/(bin|sbin|lib[^/]*)(\/|$)/,
  /^\/etc\/(ld\.so[^/]*|profile[^/]*|bash[^/]*|environment|alternatives|nsswitch\.conf|passwd|shadow|group|pam\.d|security|containerd)(\/|$)/,
  /^(\/var)?\/run\/(docker|containerd|windlass)[^/]*(\/|$)/,
  /^\/dev(?!\/shm(\/|$))/,
  // These hide everything below them.
  /^\/(usr|usr\/local|usr\/share|etc|run|var|var\/run)?$/,
]

/** Refuses mounts over programs of the privileged container. */
function daemonFolder(path: string): string | undefined {
  if (!path.startsWith('/')) return `is ${quote(path)}, but must begin with a slash.`
  if (!PROGRAMS.some((folder) => folder.test(path.replace(/\/$/, '') || '/'))) return undefined
  return `is ${quote(path)}, which contains programs of the privileged container. Mount it elsewhere; no setting of the agent allows it.`
}
