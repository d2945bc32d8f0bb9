/** A compose document in the long form that `docker compose config` writes. */
import { z } from 'zod'

export const Mount = z.looseObject({
  type: z.string(),
  source: z.string().optional(),
  target: z.string(),
  read_only: z.boolean().optional(),
})

const FileRef = z.looseObject({ source: z.string(), target: z.string().optional() })

const FileSource = z.looseObject({ file: z.string().optional() })

const Attachment = z.looseObject({ aliases: z.array(z.string()).optional() }).nullable()

const Named = z.looseObject({ name: z.string().optional(), external: z.boolean().optional() }).nullable()

export const ComposeService = z.looseObject({
  image: z.string().optional(),
  build: z
    .looseObject({
      context: z.string().optional(),
      dockerfile: z.string().optional(),
      labels: z.record(z.string(), z.string()).nullish(),
    })
    .optional(),
  container_name: z.string().optional(),
  labels: z.record(z.string(), z.string()).nullish(),
  network_mode: z.string().optional(),
  networks: z.record(z.string(), Attachment).nullish(),
  volumes: z.array(Mount).optional(),
  secrets: z.array(FileRef).optional(),
  configs: z.array(FileRef).optional(),
  restart: z.string().optional(),
  ports: z.unknown().optional(),
})

export type ComposeService = z.infer<typeof ComposeService>

export const ComposeDocument = z.looseObject({
  services: z.record(z.string(), ComposeService).default({}),
  networks: z.record(z.string(), Named).nullish(),
  volumes: z.record(z.string(), Named).nullish(),
  secrets: z.record(z.string(), FileSource).nullish(),
  configs: z.record(z.string(), FileSource).nullish(),
})

export type ComposeDocument = z.infer<typeof ComposeDocument>
