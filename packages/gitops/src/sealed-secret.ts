/** Sealed Secrets of service integrations: files that Argo CD applies, and that the controller of Sealed Secrets turns into Secrets. */
import { SERVICE_TYPES, type ServiceIntegration, type ServiceType } from '@windlass/protocol'
import { z } from 'zod'
import { runtimeFolder } from './layout.ts'
import { readManifest, toYaml } from './yaml.ts'

/** Labels of integrations, as the original names them. */
const TYPE_LABEL = 'io.codefresh.integration-type'
const NAME_LABEL = 'io.codefresh.integration-name'
/** Where the login belongs, which is no secret. */
const PLACE_ANNOTATION = 'windlass.io/integration-place'
const GROUP = 'bitnami.com'

const SECRET_TYPES = { registry: 'kubernetes.io/dockerconfigjson', jira: 'Opaque' } as const satisfies Record<ServiceType, string>

/** Folder of the integrations of a runtime. */
export function serviceFolder(runtime: string): string {
  return `${runtimeFolder(runtime)}/integrations`
}

export function servicePath(runtime: string, type: ServiceType, name: string): string {
  return `${serviceFolder(runtime)}/${type}-${name}.yaml`
}

/** Returns the name of the Secret, which workflows mount. */
export function serviceSecretName(type: ServiceType, name: string): string {
  return `${type}-integration-${name}`
}

export interface SealedService {
  readonly type: ServiceType
  readonly name: string
  readonly place: string
  readonly namespace: string
  /** Encrypted values by the keys of the Secret. */
  readonly encryptedData: Readonly<Record<string, string>>
}

export function sealedServiceFile({ type, name, place, namespace, encryptedData }: SealedService): string {
  const labels = { [TYPE_LABEL]: type, [NAME_LABEL]: name }
  const metadata = { name: serviceSecretName(type, name), namespace, labels }
  return toYaml({
    apiVersion: `${GROUP}/v1alpha1`,
    kind: 'SealedSecret',
    metadata: { ...metadata, annotations: { [PLACE_ANNOTATION]: place } },
    spec: { encryptedData, template: { metadata, type: SECRET_TYPES[type] } },
  })
}

const Place = z.looseObject({ annotations: z.looseObject({ [PLACE_ANNOTATION]: z.string() }) })

/** Returns the integration of a file. Undefined for a file that is something else. */
export function readSealedService(text: string): Omit<ServiceIntegration, 'file'> | undefined {
  const manifest = readManifest(text)
  if (manifest?.kind !== 'SealedSecret' || !manifest.apiVersion.startsWith(`${GROUP}/`)) return undefined
  const { labels = {}, name: secret } = manifest.metadata
  const type = SERVICE_TYPES.find((one) => one === labels[TYPE_LABEL])
  const name = labels[NAME_LABEL]
  if (type === undefined || name === undefined || secret !== serviceSecretName(type, name)) return undefined
  const place = Place.safeParse(manifest.metadata).data?.annotations[PLACE_ANNOTATION] ?? ''
  return { type, name, place, secret }
}
