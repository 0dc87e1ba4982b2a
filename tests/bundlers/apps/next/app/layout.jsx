export const metadata = { title: "A feed in Next", icons: "data:," };

export default function RootLayout({ children }) {
  return (
    <html lang="en">
      <body>{children}</body>
    </html>
  );
}
