/**
 * The objects of one attempt, from the runtime's specification and the facts of the build. Pure: the same input gives the same objects.
 * One Secret holds everything that must not be read elsewhere, so that it is made all at once or not at all; the pods mount the parts
 * they need. Not here: creating anything, choosing the disk (the agent).
 */
import { CLAIM_NOTE, LABEL, type DiskRequest, type KubeObject, type RuntimeSpec } from '@windlass/protocol'
import type { DockerCertificates } from './certificates.ts'
import { dindPlacement, dindPod } from './dind-pod.ts'
import { enginePod } from './engine-pod.ts'
import { attemptNames, SECRET_KEY, type AttemptNames } from './names.ts'
import { quantityValue } from './quantity.ts'

export interface AttemptInput {
  readonly buildId: string
  /** 1 for the first; later ones carry the suffix `-retry-<attempt - 1>` in their names. */
  readonly attempt: number
  readonly runtime: { readonly name: string; readonly spec: RuntimeSpec }
  readonly account: string
  readonly pipelineId?: string | undefined
  readonly projectId?: string | undefined
  readonly trigger?: string | undefined
  readonly branch?: string | undefined
  /** Base URL of the server as pods of the cluster reach it. */
  readonly serverUrl: string
  /** PEM of the authorities that the engine trusts besides the public ones. */
  readonly serverCa?: string | undefined
  /** Credential for one exchange. Must stay the same for all renderings of an attempt: the first that reaches the cluster stays. */
  readonly bootstrap: string
  /** With v1 only its authority counts: the daemon trusts clients that it signed for. */
  readonly certificates: DockerCertificates
  /** Epoch milliseconds. */
  readonly now: number
  readonly resetVolume?: boolean | undefined
  /** The engine waits for a build in place of claiming one at once. */
  readonly isWarm?: boolean | undefined
  /** Builds whose disk is the best one: this one, and the one that it repeats. */
  readonly builds?: readonly string[] | undefined
  /** Secrets and ConfigMaps that the engine reads in place of a secret store: mounted at `folder`, a file for each key. */
  readonly stores?: readonly StoreMount[] | undefined
  /**
   * Of the agent. `v1` knows claims and pods alone, no Secret: the daemon takes its certificate from the lasting Secret `codefresh-certs-server`, the
   * bootstrap credential stands in the environment of the engine, and its client certificate comes with the answer to its claim. `v2` when absent.
   */
  readonly protocol?: 'v1' | 'v2' | undefined
}

export interface StoreMount {
  readonly folder: string
  readonly resourceType: 'secret' | 'configmap'
  readonly resourceName: string
}

export interface RenderedAttempt {
  /** Secret (not with v1), PersistentVolumeClaim, dind pod, engine pod: in the order in which they are made. */
  readonly objects: KubeObject[]
  readonly disk: DiskRequest
}

/** Renders the objects of one attempt (runner specification 3). */
export function renderAttempt(input: AttemptInput): RenderedAttempt {
  const names = attemptNames(input)
  const disk = diskRequest(input)
  const pods = [claim(input, names, disk), dindPod(input, names), enginePod(input, names)]
  return { objects: input.protocol === 'v1' ? pods : [secret(input, names), ...pods], disk }
}

function secret(input: AttemptInput, names: AttemptNames): KubeObject {
  const { certificates } = input
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: names.secret, namespace: names.namespace, labels: { ...names.labels } },
    type: 'Opaque',
    immutable: true,
    stringData: {
      [SECRET_KEY.bootstrap]: input.bootstrap,
      ...(input.serverCa !== undefined && { [SECRET_KEY.serverCa]: input.serverCa }),
      [SECRET_KEY.ca]: certificates.ca,
      [SECRET_KEY.clientCert]: certificates.clientCert,
      [SECRET_KEY.clientKey]: certificates.clientKey,
      [SECRET_KEY.serverCert]: certificates.serverCert,
      [SECRET_KEY.serverKey]: certificates.serverKey,
    },
  }
}

function claim(input: AttemptInput, names: AttemptNames, disk: DiskRequest): KubeObject {
  const settings = input.runtime.spec.dockerDaemonScheduler.pvcs.dind
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: {
      name: names.claim,
      namespace: names.namespace,
      labels: { ...names.labels, [LABEL.volumeApp]: 'dind' },
      annotations: {
        ...settings.annotations,
        [CLAIM_NOTE.selector]: settings.reuseVolumeSelector,
        [CLAIM_NOTE.sortOrder]: settings.reuseVolumeSortOrder,
        ...(disk.reset && { [CLAIM_NOTE.reset]: 'true' }),
        [CLAIM_NOTE.builds]: (disk.builds ?? []).join(','),
        [CLAIM_NOTE.placement]: JSON.stringify(dindPlacement(input)),
      },
    },
    spec: {
      accessModes: ['ReadWriteOnce'],
      storageClassName: disk.storageClassName,
      resources: { requests: { storage: settings.volumeSize } },
    },
  }
}

function diskRequest(input: AttemptInput): DiskRequest {
  const settings = input.runtime.spec.dockerDaemonScheduler.pvcs.dind
  return {
    storageClassName: settings.storageClassName,
    sizeBytes: Math.max(1, quantityValue(settings.volumeSize)),
    selector: keysOf(settings.reuseVolumeSelector),
    sortOrder: keysOf(settings.reuseVolumeSortOrder),
    labels: { ...attemptNames(input).labels, [LABEL.volumeApp]: 'dind' },
    reset: input.resetVolume === true,
    builds: [...(input.builds ?? [input.buildId])],
  }
}

function keysOf(list: string): string[] {
  return list
    .split(',')
    .map((key) => key.trim())
    .filter((key) => key !== '')
}
