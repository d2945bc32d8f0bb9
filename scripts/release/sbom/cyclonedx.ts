/** Software bills of materials in the JSON format of CycloneDX 1.6. */
import type { Component } from './component.ts'
import { sortComponents } from './components.ts'

export interface Subject {
  readonly type: 'application' | 'container'
  readonly name: string
  readonly version: string
  readonly purl: string
  readonly createdAt: Date
}

/** Returns the document of a program or image and the packages in it. */
export function toCycloneDx({ createdAt, ...subject }: Subject, components: readonly Component[]): string {
  const sorted = sortComponents(components)
  const document = {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: {
      timestamp: createdAt.toISOString(),
      component: { ...subject, 'bom-ref': subject.purl, licenses: [{ license: { id: 'Apache-2.0' } }] },
    },
    components: sorted.map(({ license, ...component }) => ({
      type: 'library',
      ...component,
      'bom-ref': component.purl,
      // An expression is valid for a single license, too.
      ...(license !== undefined && { licenses: [{ expression: license }] }),
    })),
    dependencies: [{ ref: subject.purl, dependsOn: sorted.map(({ purl }) => purl) }],
  }
  return `${JSON.stringify(document, null, 2)}\n`
}
