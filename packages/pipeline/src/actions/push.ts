/** Step types push and push-tag: push images to a registry. */
import type { PushAction, PushTagAction } from '@windlass/plan'
import { checkPush } from '../context/check-registries.ts'
import * as read from '../language/fields.ts'
import type { Entries } from '../language/fields.ts'
import { text, word } from '../language/shape.ts'
import { warnOfUppercase } from '../language/step-rules.ts'
import type { RulePlace, BuiltInStepType } from '../language/step-type.ts'
import { AWS, AWS_KEYS, checkAws, toAws } from './aws.ts'
import { credentials } from './common-fields.ts'

export const push: BuiltInStepType<PushAction> = {
  about: 'Tags an image and pushes it to a registry.',
  open: false,
  fields: {
    candidate: { shape: text, required: true, about: 'Image reference, or `${{step}}` of a build step.' },
    registry: { shape: text, about: 'Registry integration or host; the default registry if absent.' },
    image_name: { shape: text, aliases: ['image-name'], about: 'Name to push as; the name of the candidate by default.' },
    tag: { shape: text, about: 'A single tag; `latest` by default.' },
    tags: { shape: { kind: 'list', of: text }, about: 'Several tags.' },
    registry_context: { shape: text, about: 'Registry integration for pulling the candidate.' },
    credentials,
    provider: { shape: word('docker', 'standard', 'ecr'), about: 'Registry kind; `docker` by default.' },
    ...AWS_KEYS,
    ...AWS,
  },
  rule,
  checkContext: checkPush,
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

export const pushTag: BuiltInStepType<PushTagAction> = {
  about: 'Adds tags to an image that is already in a registry.',
  open: false,
  fields: {
    image_name: { shape: text, required: true, aliases: ['image-name'], about: 'Image, with host and tag if needed.' },
    tags: { shape: { kind: 'list', of: text, least: 1 }, required: true, about: 'Tags to add.' },
    registry: { shape: text, about: 'Registry integration; the one of the image host by default.' },
    ...AWS,
  },
  rule,
  checkContext: checkPush,
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
