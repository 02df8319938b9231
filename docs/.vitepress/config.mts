/** The documentation as a site: `npm run site`. Pages are plain Markdown and read well without it. */

const pages = (folder: string, links: Readonly<Record<string, string>>) =>
  Object.entries(links).map(([path, text]) => ({ text, link: `/${folder}/${path}` }));

export default {
  title: 'callsync',
  description: 'Call records in your warehouse, proven complete',
  cleanUrls: true,
  // Links to files of the repository are dead on a site.
  ignoreDeadLinks: [/\.\.\//, /datacontract/],
  themeConfig: {
    search: { provider: 'local' },
    sidebar: [
      {
        text: 'Tutorials',
        items: pages('tutorials', { quickstart: 'Quickstart', 'analyst-first-hour': 'First hour of an analyst' }),
      },
      {
        text: 'Guides: run',
        items: pages('guides', {
          install: 'Install',
          'connect-your-service': 'Connect your service',
          'deploy-compose': 'Deploy with Compose',
          'deploy-kubernetes': 'Deploy on Kubernetes',
          proxies: 'Proxies',
          'managed-services': 'Managed services',
          'size-and-cost': 'Size and cost',
          monitor: 'Monitor',
          'backup-restore': 'Back up and restore',
          upgrade: 'Upgrade',
          'rotate-secrets': 'Rotate secrets',
        }),
      },
      {
        text: 'Guides: use',
        items: pages('guides', {
          backfill: 'Backfill',
          'gate-pipelines': 'Gate pipelines',
          'search-transcripts': 'Search transcripts',
          assistants: 'Assistants',
          'privacy-requests': 'Requests of persons',
          'configure-redaction': 'Configure redaction',
        }),
      },
      {
        text: 'Reference',
        items: pages('reference', {
          cli: 'Commands',
          config: 'Configuration',
          errors: 'Errors',
          'exit-codes': 'Exit codes',
          metrics: 'Conditions, alerts, metrics',
          tables: 'Tables',
          marts: 'Marts',
          cookbook: 'Cookbook',
          'data-inventory': 'Data inventory',
          sizing: 'Sizing',
          compatibility: 'Compatibility',
          glossary: 'Glossary',
        }),
      },
      {
        text: 'Explanation',
        items: pages('explanation', {
          'how-it-works': 'How it works',
          completeness: 'Completeness',
          'bigquery-loading': 'BigQuery loading',
          'privacy-model': 'Privacy model',
          'security-model': 'Security model',
          comparison: 'Comparison',
        }),
      },
      {
        text: 'Contributing',
        items: pages('contributing', { architecture: 'Architecture', packages: 'Packages' }),
      },
    ],
  },
};
