/**
 * Renders the objects of one attempt from the specification of the runtime and the facts of the build. Pure: the same input gives the same
 * objects. One Secret holds everything confidential, so that it is created completely or not at all; the pods mount the parts that they
 * need. Creating objects and choosing the disk is up to the agent.
 */
import { defined } from '@windlass/kit/defined'
import { CLAIM_NOTE, LABEL, SECRET_KEY, type DiskRequest, type KubeObject } from '@windlass/protocol'
import { dindPlacement, dindPod } from './dind-pod.ts'
import { enginePod } from './engine-pod.ts'
import { attemptNames, type AttemptNames } from './names.ts'
import { quantityValue } from './quantity.ts'
import type { AttemptInput } from './attempt-input.ts'

export interface RenderedAttempt {
  /** Secret (not with v1), PersistentVolumeClaim, dind pod, engine pod, in the order of creation. */
  readonly objects: KubeObject[]
  readonly disk: DiskRequest
}

/** Renders the objects of one attempt. */
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
      ...defined({ [SECRET_KEY.serverCa]: input.serverCa }),
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
