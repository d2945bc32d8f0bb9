/** The field table of build steps. */
import { either, flag, optionalText, record, text, texts, word } from '../language/shape.ts'
import type { Fields } from '../language/shape.ts'
import { ANNOTATIONS, METADATA_OF_BUILD } from '../language/control-fields.ts'
import { AWS } from './aws.ts'
import { workingDirectory } from './common-fields.ts'

export const QEMU_DEFAULTS = { image: 'tonistiigi/binfmt:latest', platforms: 'all' }
export const BUILDER_DRIVER = 'docker-container'

const BUILDX: Fields = {
  qemu: {
    shape: record({
      image: { shape: text, about: `Image that installs the emulators; \`${QEMU_DEFAULTS.image}\` by default.` },
      platforms: { shape: text, about: 'Platforms to emulate; `all` by default.' },
    }),
    about: 'Emulation of other CPU architectures.',
  },
  builder: {
    shape: record({
      driver: { shape: text, about: `Driver of the builder; \`${BUILDER_DRIVER}\` by default.` },
      driver_opts: { shape: optionalText, about: 'Options of the driver, such as `network=host`.' },
    }),
    about: 'The builder that is created for the step.',
  },
}

const BUILDKIT: Fields = {
  buildkit: { shape: flag, about: 'Builds with BuildKit; false by default.' },
  progress: { shape: word('auto', 'quiet', 'plain', 'tty', 'rawjson'), about: 'How BuildKit writes its log; turns BuildKit on.' },
  secrets: {
    shape: {
      kind: 'list',
      least: 1,
      of: either(
        text,
        record({
          id: { shape: text, required: true, about: 'Name in `RUN --mount=type=secret,id=...`.' },
          src: { shape: text, required: true, about: 'File that contains the secret.' },
        }),
      ),
    },
    about: 'BuildKit secrets: `id=NAME,src=FILE`, or `{ id, src }`; turns BuildKit on.',
  },
  ssh: {
    shape: either(text, { kind: 'list', of: text, least: 1 }, { kind: 'map', of: text, least: 1 }),
    about: 'BuildKit ssh agents or keys: `default`, a list of `name=path`, or a mapping of names to paths; turns BuildKit on.',
  },
  buildx: {
    shape: either(flag, record(BUILDX)),
    about: 'Builds with buildx: true, or the settings of a dedicated builder; false by default.',
  },
  platform: { shape: text, about: 'Platforms to build for, separated by commas; needs `buildx`.' },
}

const GCB: Fields = {
  google_app_creds: { shape: text, about: 'Credentials of Google Cloud.' },
  cache: {
    shape: record({
      repo: { shape: text, required: true, about: 'Cache repository.' },
      ttl: { shape: optionalText, about: 'How long the cache is kept.' },
    }),
    required: true,
    about: 'Layer cache.',
  },
  timeout: { shape: optionalText, about: 'Timeout.' },
  machineType: { shape: word('UNSPECIFIED', 'N1_HIGHCPU_8', 'N1_HIGHCPU_32'), about: 'Machine type.' },
  diskSizeGb: { shape: { kind: 'number', above: 0 }, about: 'Disk size in GB.' },
  logsBucket: { shape: text, about: 'Bucket for logs.' },
}

const AFTERWARDS: Fields = {
  cosign: {
    shape: record({
      sign: { shape: flag, required: true, about: 'True signs the image after the push.' },
      options: { shape: { kind: 'map', of: optionalText }, about: 'cosign options by name, such as `key`.' },
    }),
    about: 'Signs the image.',
  },
  metadata: { shape: record(METADATA_OF_BUILD), about: 'Metadata of the image.' },
  annotations: { shape: record(ANNOTATIONS), about: 'Annotations of the build, pipeline, project or image.' },
}

export const BUILD: Fields = {
  image_name: { shape: text, required: true, aliases: ['image-name'], about: 'Image name without host and tag.' },
  tag: { shape: text, about: 'A single tag; the normalized branch by default.' },
  tags: { shape: { kind: 'list', of: text }, about: 'Several tags.' },
  tag_policy: { shape: word('original', 'lowercase'), aliases: ['tag-policy'], about: 'Case of tags; `lowercase` by default.' },
  dockerfile: {
    shape: either(text, record({ content: { shape: text, required: true, about: 'Content of the Dockerfile.' } })),
    about: 'Path relative to the working directory; `Dockerfile` by default.',
  },
  working_directory: { ...workingDirectory, about: `The build context. ${workingDirectory.about}` },
  build_arguments: { shape: texts, aliases: ['build-arguments'], about: 'List of `NAME=VALUE`.' },
  target: { shape: text, about: 'Build stage to stop at.' },
  no_cache: { shape: flag, about: 'Builds every layer without the cache; false by default.' },
  no_cf_cache: { shape: flag, about: 'Does not use earlier images as a cache; false by default.' },
  squash: { shape: flag, about: 'Squashes all layers into one; false by default.' },
  cache_from: { shape: texts, about: 'Images or caches to use as layer sources.' },
  cache_to: { shape: texts, about: 'Cache targets of BuildKit, such as `type=registry,ref=...`.' },
  registry: { shape: text, about: 'Registry integration to push to; the default registry if absent.' },
  registry_contexts: { shape: texts, about: 'Registry integrations for pulling base images.' },
  disable_push: { shape: flag, about: 'True keeps the image in the Docker daemon of the build; not allowed with `buildx`.' },
  ...BUILDKIT,
  provider: {
    shape: record({
      type: {
        shape: word('cf', 'gcb'),
        about: '`cf` by default. With `gcb` the Docker daemon of the build builds the image too.',
      },
      arguments: { shape: { kind: 'any' }, about: 'Settings of Google Cloud Build.' },
    }),
    about: 'Build provider.',
  },
  ...AWS,
  ...AFTERWARDS,
}

/** Fields of `provider.arguments` if `provider.type` is `gcb`. */
export const GCB_ARGUMENTS = GCB
