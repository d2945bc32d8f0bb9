/** The fields of build steps as a table. */
import { either, flag, optionalText, record, text, texts, word } from '../shape.ts'
import type { Fields } from '../shape.ts'
import { ANNOTATIONS, METADATA_OF_BUILD } from '../control-fields.ts'
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
    about: 'Emulation of other processors.',
  },
  builder: {
    shape: record({
      driver: { shape: text, about: `Driver of the builder; \`${BUILDER_DRIVER}\` by default.` },
      driver_opts: { shape: optionalText, about: 'Options of the driver, such as `network=host`.' },
    }),
    about: 'The builder that is made for the step.',
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
          src: { shape: text, required: true, about: 'The file that holds it.' },
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
    about: 'Builds with buildx: true, or the settings of a builder of its own; false by default.',
  },
  platform: { shape: text, about: 'Platforms to build for, comma separated; needs `buildx`.' },
}

const GCB: Fields = {
  google_app_creds: { shape: text, about: 'Credentials of Google Cloud.' },
  cache: {
    shape: record({
      repo: { shape: text, required: true, about: 'Repository of the cache.' },
      ttl: { shape: optionalText, about: 'How long it is kept.' },
    }),
    required: true,
    about: 'Where layers are kept.',
  },
  timeout: { shape: optionalText, about: 'Time limit.' },
  machineType: { shape: word('UNSPECIFIED', 'N1_HIGHCPU_8', 'N1_HIGHCPU_32'), about: 'Size of the machine.' },
  diskSizeGb: { shape: { kind: 'number', above: 0 }, about: 'Size of its disk.' },
  logsBucket: { shape: text, about: 'Bucket for logs.' },
}

const AFTERWARDS: Fields = {
  cosign: {
    shape: record({
      sign: { shape: flag, required: true, about: 'True signs the image after it was pushed.' },
      options: { shape: { kind: 'map', of: optionalText }, about: 'Options of cosign by name, such as `key`.' },
    }),
    about: 'Signs the image.',
  },
  metadata: { shape: record(METADATA_OF_BUILD), about: 'Metadata of the image.' },
  annotations: { shape: record(ANNOTATIONS), about: 'Annotations of the build, its pipeline, its project or the image.' },
}

export const BUILD: Fields = {
  image_name: { shape: text, required: true, aliases: ['image-name'], about: 'Name of the image, without host and tag.' },
  tag: { shape: text, about: 'One tag; the normalized branch by default.' },
  tags: { shape: { kind: 'list', of: text }, about: 'Several tags.' },
  tag_policy: { shape: word('original', 'lowercase'), aliases: ['tag-policy'], about: 'Case of tags; `lowercase` by default.' },
  dockerfile: {
    shape: either(text, record({ content: { shape: text, required: true, about: 'The Dockerfile itself.' } })),
    about: 'Path below the working directory; `Dockerfile` by default.',
  },
  working_directory: { ...workingDirectory, about: `The build context. ${workingDirectory.about}` },
  build_arguments: { shape: texts, aliases: ['build-arguments'], about: 'List of `NAME=VALUE`.' },
  target: { shape: text, about: 'The stage to stop at.' },
  no_cache: { shape: flag, about: 'Builds every layer anew; false by default.' },
  no_cf_cache: { shape: flag, about: 'Does not look for layers in earlier images; false by default.' },
  squash: { shape: flag, about: 'Makes one layer of all; false by default.' },
  cache_from: { shape: texts, about: 'Images or caches to take layers from.' },
  cache_to: { shape: texts, about: 'Where BuildKit puts its cache, such as `type=registry,ref=...`.' },
  registry: { shape: text, about: 'The registry integration to push to; the default one by default.' },
  registry_contexts: { shape: texts, about: 'Registry integrations to pull base images with.' },
  disable_push: { shape: flag, about: 'True keeps the image on the build’s own daemon; not with `buildx`.' },
  ...BUILDKIT,
  provider: {
    shape: record({
      type: { shape: word('cf', 'gcb'), about: '`cf` by default; images are built by the daemon of the build with `gcb` too.' },
      arguments: { shape: { kind: 'any' }, about: 'Settings of Google Cloud Build.' },
    }),
    about: 'Where the image is built.',
  },
  ...AWS,
  ...AFTERWARDS,
}

/** What `provider.arguments` may hold where `provider.type` is `gcb`. */
export const GCB_ARGUMENTS = GCB
