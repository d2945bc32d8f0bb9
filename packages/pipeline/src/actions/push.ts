/** Steps of type push and push-tag: images that go to a registry (pipeline language 2.5 and 2.6). */
import type { PushAction, PushTagAction } from '@windlass/plan'
import * as read from '../fields.ts'
import type { Entries } from '../fields.ts'
import { text, word } from '../shape.ts'
import { warnOfUppercase } from '../step-rules.ts'
import type { RulePlace, StepType } from '../step-type.ts'
import { AWS, AWS_KEYS, checkAws, toAws } from './aws.ts'
import { credentials } from './common-fields.ts'

export const push: StepType = {
  about: 'Tags an image and pushes it to a registry.',
  open: false,
  fields: {
    candidate: { shape: text, required: true, about: 'The image: a reference, or `${{step}}` of a build step.' },
    registry: { shape: text, about: 'The registry integration, or a host; the default one by default.' },
    image_name: { shape: text, aliases: ['image-name'], about: 'Name to push as; the candidate’s by default.' },
    tag: { shape: text, about: 'One tag; `latest` by default.' },
    tags: { shape: { kind: 'list', of: text }, about: 'Several tags.' },
    registry_context: { shape: text, about: 'The registry integration to pull the candidate with.' },
    credentials,
    provider: { shape: word('docker', 'standard', 'ecr'), about: 'Kind of the registry; `docker` by default.' },
    ...AWS_KEYS,
    ...AWS,
  },
  rule,
  toAction(entries: Entries): PushAction {
    const tags = read.tags(entries)
    const isEcr = read.text(entries, 'provider') === 'ecr'
    return {
      kind: 'push',
      candidate: read.text(entries, 'candidate') ?? '',
      ...read.when('registry', read.text(entries, 'registry')),
      ...read.when('imageName', read.text(entries, 'image_name')),
      tags: tags.length === 0 ? ['latest'] : tags,
      ...read.when('registryContext', read.text(entries, 'registry_context')),
      ...read.when('credentials', isEcr ? undefined : read.credentials(entries)),
      ...read.when('aws', toAws(entries)),
    }
  },
}

export const pushTag: StepType = {
  about: 'Gives an image that is in a registry already further tags.',
  open: false,
  fields: {
    image_name: { shape: text, required: true, aliases: ['image-name'], about: 'The image, with host and tag where needed.' },
    tags: { shape: { kind: 'list', of: text, least: 1 }, required: true, about: 'The tags to give it.' },
    registry: { shape: text, about: 'The registry integration; that of the image’s host by default.' },
    ...AWS,
  },
  rule,
  toAction: (entries: Entries): PushTagAction => ({
    kind: 'push-tag',
    imageName: read.text(entries, 'image_name') ?? '',
    tags: read.tags(entries),
    ...read.when('registry', read.text(entries, 'registry')),
    ...read.when('aws', toAws(entries)),
  }),
}

function rule(entries: Entries, place: RulePlace): void {
  warnOfUppercase(entries, place)
  checkAws(entries, place)
}
